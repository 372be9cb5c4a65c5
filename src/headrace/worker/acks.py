"""A buffer for job outcomes, which the worker sends to the server in its next round trip."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from headrace.engine.call import Answer, Call
from headrace.operations.batches import cut
from headrace.operations.core import Core
from headrace.operations.finishing import (
    GIVEN,
    MESSAGE_AND_DATA,
    complete_call,
    fail_call,
    release_call,
)
from headrace.operations.popping import Popped
from headrace.worker.task_call import Done, Failed, Snoozed

Row = tuple[Any, ...]

# The positions of payloads in a row, by the kind of acknowledgement.
PAYLOADS = {"complete": GIVEN, "move": GIVEN, "fail": MESSAGE_AND_DATA, "release": ()}


@dataclass(slots=True)
class PendingAck:
    """One call that acknowledges jobs, with the jobs in the order of the call's replies."""

    shard: int
    call: Call[list[Answer]]
    jobs: list[Popped]


class AckBuffer:
    """Collects completions, failures and releases of jobs, and groups them into calls."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._groups: dict[tuple[Any, ...], list[tuple[Popped, Row]]] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def waits_for(self, shards: Container[int]) -> bool:
        """Return whether the buffer has outcomes for some of these shards."""
        return any(shard in shards for shard, *_ in self._groups)

    def waits_only_for(self, shards: Container[int]) -> bool:
        """Return whether all outcomes in the buffer are for these shards."""
        return all(shard in shards for shard, *_ in self._groups)

    def acknowledge(self, popped: Popped, outcome: Done | Failed | Snoozed) -> None:
        """Add the outcome of a run."""
        if isinstance(outcome, Done):
            self.complete(popped, outcome.result)
        elif isinstance(outcome, Failed):
            self.fail(popped, outcome.failure, outcome.message, outcome.traceback, outcome.retry_in)
        else:
            self.release(popped, outcome.delay)

    def complete(self, popped: Popped, result: bytes) -> None:
        """Add a completion; an empty `result` means that the job has no result."""
        # The script is faster if all jobs of a call are from one queue and have no result.
        group = popped.record.queue if not result else None
        self._add(("complete", group), popped, (popped.id, popped.record.token, result))

    def move(self, popped: Popped, queue: str, data: bytes, delay: float) -> None:
        """Add a completion that moves the job on to another queue."""
        self._add(("move", queue, delay), popped, (popped.id, popped.record.token, data))

    def fail(
        self, popped: Popped, failure: str, message: str, traceback: str, retry_in: float | None
    ) -> None:
        """Add a failure; without `retry_in` the job fails permanently."""
        retry_ms = -1 if retry_in is None else round(retry_in * 1000)
        row = (popped.id, popped.record.token, failure, message, traceback, retry_ms, b"")
        self._add(("fail",), popped, row)

    def release(self, popped: Popped, delay: float = 0.0) -> None:
        """Add a release. The release returns the job to the front of its queue after the delay."""
        self._add(("release", delay), popped, (popped.id, popped.record.token))

    def ids(self) -> set[str]:
        """Return the ids of the jobs in the buffer."""
        return {popped.id for group in self._groups.values() for popped, _ in group}

    def take(self, shards: Container[int] | None = None) -> list[PendingAck]:
        """Remove outcomes from the buffer, and return them as calls.

        If `shards` is None, all outcomes are taken, otherwise only those for these shards.
        """
        groups, self._groups = self._groups, {}
        if shards is not None:
            self._groups = {key: group for key, group in groups.items() if key[0] not in shards}
            groups = {key: group for key, group in groups.items() if key[0] in shards}
        size = self._core.limits.batch
        taken = []
        for (shard, kind, *options), group in groups.items():
            for part in cut([(*row, popped) for popped, row in group], size, PAYLOADS[kind]):
                rows, jobs = [row[:-1] for row in part], [row[-1] for row in part]
                taken.append(PendingAck(shard, self._call(kind, options, rows), jobs))
        return taken

    def _add(self, kind: tuple[Any, ...], popped: Popped, row: Row) -> None:
        core = self._core
        shard = 0 if core.shards == 1 else core.shard_of(popped.id)
        self._groups.setdefault((shard, *kind), []).append((popped, row))

    def _call(self, kind: str, options: list[Any], rows: list[Row]) -> Call[list[Answer]]:
        if kind == "complete":
            return complete_call(self._core, rows, None, 0)
        if kind == "move":
            return complete_call(self._core, rows, *options)
        if kind == "fail":
            return fail_call(self._core, rows)
        return release_call(rows, "front", options[0], "worker")
