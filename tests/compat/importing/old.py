"""What tests do with an old installation: lay keys, import them, and look at what came."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

import redis

from headrace import Client, Queue
from headrace.compat.importing.bringing import Brought, Plan, bring, place_of, planned
from headrace.compat.importing.found import Place
from headrace.compat.importing.verifying import Verified, verify

DATABASE = 9


class Old:
    """A database with the keys of another system."""

    def __init__(self, url: str) -> None:
        self.url = f"{url}{'&' if '?' in url else '?'}db={DATABASE}"
        self._redis = redis.Redis.from_url(self.url)
        self._redis.flushdb()

    def close(self) -> None:
        self._redis.flushdb()
        self._redis.close()

    def lay(self, commands: str) -> None:
        """Carries out commands, one a line, quoted as in a shell."""
        for line in filter(None, map(str.strip, commands.splitlines())):
            self.say(*shlex.split(line))

    def say(self, *words: str | bytes) -> Any:
        return self._redis.execute_command(*words)

    def dump(self) -> dict[bytes, bytes]:
        """Every key with its value, as the server stores it."""
        return {key: self.say("DUMP", key) for key in sorted(self.say("KEYS", "*"))}

    def place(self, system: str, prefix: str | None = None, *queues: str) -> Place:
        return place_of(self.url, system, prefix, queues)


@dataclass(frozen=True, slots=True)
class Imported:
    """An import from its plan to its end."""

    plan: Plan
    brought: Brought
    verified: Verified

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        return {key: found.count for key, found in self.plan.tally.sums.items()}


def nothing(_more: int) -> None:
    """Nobody looks at the progress."""


def imported(
    hr: Client, old: Old, system: str, prefix: str | None = None, *queues: str
) -> Imported:
    """Imports what there is; it is verified, the books balance, and the source is as it was."""
    before = old.dump()
    place = old.place(system, prefix, *queues)
    plan = planned(place, nothing)
    brought = bring(hr, place, plan, nothing)
    verified = verify(hr, place, plan, nothing)

    assert verified.faults == [], verified.faults
    assert {key: found.digest for key, found in verified.here.sums.items()} == {
        key: found.digest for key, found in verified.there.sums.items()
    }
    assert hr.audit().balanced
    assert old.dump() == before
    return Imported(plan, brought, verified)


def line_of(queue: Queue) -> list[bytes]:
    """The payloads that wait, the next one first."""
    return [job.payload for job in queue.jobs("waiting").jobs]
