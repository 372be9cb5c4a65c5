"""What a worker has to say of its jobs, gathered until the next round trip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.engine.call import Answer, Call
from headrace.operations.core import Core
from headrace.operations.finishing import complete_call, fail_call, release_call
from headrace.operations.popping import Popped
from headrace.worker.run import Done, Failed, Snoozed

Row = tuple[Any, ...]


@dataclass(slots=True)
class Said:
    """One call of the round trip, and the jobs that it is about, in order."""

    shard: int
    call: Call[list[Answer]]
    jobs: list[Popped]


class Outbox:
    """Completions, failures and returns, by what goes into one call."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._piles: dict[tuple[Any, ...], list[tuple[Popped, Row]]] = {}

    def __bool__(self) -> bool:
        return bool(self._piles)

    def say(self, popped: Popped, outcome: Done | Failed | Snoozed) -> None:
        """What became of a job that was run."""
        if isinstance(outcome, Done):
            self.complete(popped, outcome.given)
        elif isinstance(outcome, Failed):
            self.fail(popped, outcome.failure, outcome.message, outcome.traceback, outcome.retry_in)
        else:
            self.release(popped, outcome.delay)

    def complete(self, popped: Popped, given: bytes) -> None:
        # Plain completions of one queue go a short way on the server; results would bar it.
        about = popped.record.queue if not given else None
        self._add(("complete", about), popped, (popped.id, popped.record.token, given))

    def move(self, popped: Popped, queue: str, given: bytes, delay: float) -> None:
        """It went well, and goes on to another queue."""
        self._add(("move", queue, delay), popped, (popped.id, popped.record.token, given))

    def fail(
        self, popped: Popped, failure: str, message: str, traceback: str, retry_in: float | None
    ) -> None:
        retry_ms = -1 if retry_in is None else round(retry_in * 1000)
        row = (popped.id, popped.record.token, failure, message, traceback, retry_ms, b"")
        self._add(("fail",), popped, row)

    def release(self, popped: Popped, delay: float = 0.0) -> None:
        self._add(("release", delay), popped, (popped.id, popped.record.token))

    def ids(self) -> set[str]:
        """The jobs that something is to be said of."""
        return {popped.id for pile in self._piles.values() for popped, _ in pile}

    def take(self) -> list[Said]:
        """Everything that is to be said, as calls; the outbox is empty then."""
        piles, self._piles = self._piles, {}
        return [
            Said(shard, call, [popped for popped, _ in part])
            for (shard, kind, *about), pile in piles.items()
            for part in _parts(pile, self._core.limits.batch)
            for call in [self._call(kind, about, [row for _, row in part])]
        ]

    def _add(self, kind: tuple[Any, ...], popped: Popped, row: Row) -> None:
        core = self._core
        shard = 0 if core.shards == 1 else core.shard_of(popped.id)
        self._piles.setdefault((shard, *kind), []).append((popped, row))

    def _call(self, kind: str, about: list[Any], rows: list[Row]) -> Call[list[Answer]]:
        makers: dict[str, Callable[[], Call[list[Answer]]]] = {
            "complete": lambda: complete_call(self._core, rows, None, 0),
            "move": lambda: complete_call(self._core, rows, *about),
            "fail": lambda: fail_call(self._core, rows),
            "release": lambda: release_call(rows, "front", about[0], "worker"),
        }
        return makers[kind]()


def _parts(pile: list[tuple[Popped, Row]], size: int) -> list[list[tuple[Popped, Row]]]:
    return [pile[at : at + size] for at in range(0, len(pile), size)]
