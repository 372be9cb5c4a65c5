"""Helpers of the import tests: write keys of another system, import them, read the jobs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

import redis

from headrace import Client, Queue
from headrace.close_on_exit import ClosesOnExit
from headrace.compat.importing.entries import ImportSource
from headrace.compat.importing.import_steps import (
    ImportCheck,
    ImportPlan,
    ImportResult,
    check_import,
    import_entries,
    make_plan,
)
from headrace.compat.importing.source_server import SourceServer

DATABASE = 9

# Jobs of a later version of qless, one of which depends on the other.
LATER_QLESS = """
HSET ql:j:a jid a klass k state waiting queue q data {} priority 0 tags []
HSET ql:j:b jid b klass k state depends queue q data {} priority 0 tags []
ZADD ql:q:q-work 0 a
ZADD ql:q:q-depends 0 b
SADD ql:j:b-dependencies a
"""


class Installation(ClosesOnExit):
    """A database with the keys of another system."""

    def __init__(self, url: str) -> None:
        self.url = f"{url}{'&' if '?' in url else '?'}db={DATABASE}"
        self._redis = redis.Redis.from_url(self.url)
        self._redis.flushdb()

    def close(self) -> None:
        self._redis.flushdb()
        self._redis.close()

    def write(self, commands: str) -> None:
        """Run commands, one per line, quoted as in a shell."""
        for line in filter(None, map(str.strip, commands.splitlines())):
            self.run(*shlex.split(line))

    def run(self, *words: str | bytes) -> Any:
        return self._redis.execute_command(*words)

    def dump(self) -> dict[bytes, bytes]:
        """Return every key with its value as the server stores it."""
        return {key: self.run("DUMP", key) for key in sorted(self.run("KEYS", "*"))}

    def source(self, system: str, prefix: str | None = None, *queues: str) -> ImportSource:
        return ImportSource(SourceServer(self.url), system, prefix, queues)


@dataclass(frozen=True, slots=True)
class Imported:
    """The three steps of an import."""

    plan: ImportPlan
    result: ImportResult
    check: ImportCheck


def ignore(_more: int) -> None:
    """Ignore the progress."""


def run_import(
    hr: Client, old: Installation, system: str, prefix: str | None = None, *queues: str
) -> Imported:
    """Import everything; the check finds no problem, and the source is unchanged."""
    before = old.dump()
    source = old.source(system, prefix, *queues)
    plan = make_plan(source, ignore)
    result = import_entries(hr, source, plan, ignore)
    check = check_import(hr, source, plan, ignore)

    assert check.problems == []
    assert check.counts.total() + check.changed == plan.counts.total()
    assert result.imported + result.imported_before == plan.counts.total()
    assert hr.audit().balanced
    assert old.dump() == before
    return Imported(plan, result, check)


def waiting(queue: Queue) -> list[bytes]:
    """Return the payloads of the waiting jobs, the next one first."""
    return [job.payload for job in queue.jobs("waiting").jobs]
