"""Acknowledge finished jobs and pop new ones in one round trip."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from headrace.app.app import App
from headrace.client.client import Client
from headrace.engine.call import Call, packed_pair
from headrace.engine.check import PAGE, milliseconds, text
from headrace.errors import HeadraceError, InvalidArgument, SessionRequired
from headrace.operations.popping import (
    MOST,
    Popped,
    divide_evenly,
    none_if_refused,
    pop,
    pop_call,
)
from headrace.operations.putting import payload_for
from headrace.operations.requests import ask
from headrace.operations.sessions import workers
from headrace.options import UNSET
from headrace.spark.executors.outcomes import Next
from headrace.spark.executors.work_counts import WorkCounts
from headrace.transport.drive import drive
from headrace.worker.acks import AckBuffer, PendingAck
from headrace.worker.run import Done, Unwritable, outcome_of_error, pack_result


class JobExchange:
    """Pops the jobs of one task and acknowledges their outcomes."""

    def __init__(self, client: Client, app: App, queue: str, worker: str, batch: int) -> None:
        self.counts = WorkCounts(tasks=1)
        self._core = client.core
        self._client = client
        self._app = app
        self._queue = client.queue(queue)
        self._worker = worker
        self._batch = batch
        self._acks = AckBuffer(client.core)
        # If a batch cannot be divided evenly, the remainder rotates over the shards.
        self._turn = 0
        self._make_pop = pop_call(self._queue, worker, 1, math.inf)

    def finish(self, popped: Popped, outcome: Any) -> None:
        """Record the outcome of a job. The next round trip sends it."""
        try:
            self._finish(popped, outcome)
        except (Unwritable, InvalidArgument) as error:
            self._acks.acknowledge(
                popped, outcome_of_error(self._app, popped, Unwritable(str(error)), None)
            )

    def _finish(self, popped: Popped, outcome: Any) -> None:
        if isinstance(outcome, BaseException):
            self._acks.acknowledge(popped, outcome_of_error(self._app, popped, outcome, None))
        elif isinstance(outcome, Next):
            queue = text("next", outcome.queue, self._core.limits.name)
            delay = milliseconds("delay", outcome.delay) / 1000
            self._acks.move(popped, queue, self._new_data(outcome.data), delay)
        else:
            self._acks.acknowledge(popped, Done(pack_result(self._app, outcome)))

    def _new_data(self, data: Any) -> bytes:
        if data is UNSET:
            return b""
        return packed_pair(None, payload_for(data, self._core.codec, self._core.limits))

    def send(self) -> None:
        """Send the recorded outcomes."""
        acks = self._acks.take()
        if acks:
            answers = drive(
                self._core.transport, ask(self._core, [(one.shard, one.call) for one in acks])
            )
            self._count(acks, answers)

    def send_and_pop(self) -> list[Popped]:
        """Send the recorded outcomes and pop up to one batch of jobs, in one round trip."""
        acks = self._acks.take()
        pops = self._divided()
        self._turn += 1
        calls: list[tuple[int, Call[Any]]] = [(one.shard, one.call) for one in acks]
        calls += [(shard, none_if_refused(self._make_pop(count))) for shard, count in pops]
        answers = drive(self._core.transport, ask(self._core, calls))
        self._count(acks, answers[: len(acks)])
        return [popped for handout in answers[len(acks) :] if handout for popped in handout.jobs]

    def wait(self, seconds: float) -> list[Popped]:
        """Wait for jobs and return them; none if none came in this time."""
        count = min(self._batch, MOST)
        operation = pop(self._queue, self._worker, count=count, lease=math.inf, wait=seconds)
        try:
            return drive(self._core.transport, operation)
        except SessionRequired:
            # The session expired; the task starts a new one.
            return []

    def is_empty(self, run: str) -> bool:
        """Return whether no job waits and no worker of the run holds a job.

        A held job could return to the queue.
        """
        if any(worker.jobs for worker in self._workers() if worker.name.startswith(run)):
            return False
        counts = self._queue.counts()
        return not (counts.waiting or counts.due or counts.late)

    def _workers(self) -> Iterable[Any]:
        offset = 0
        while page := drive(self._core.transport, workers(self._client, offset=offset, count=PAGE)):
            yield from page
            offset += PAGE

    def _divided(self) -> list[tuple[int, int]]:
        """Return how many jobs to pop from each shard; one pop returns at most MOST."""
        shards = list(range(self._core.shards))
        first = self._turn % len(shards)
        rotated = shards[first:] + shards[:first]
        return [
            (shard, min(MOST, wanted - popped))
            for shard, wanted in divide_evenly(rotated, self._batch)
            for popped in range(0, wanted, MOST)
        ]

    def _count(self, acks: list[PendingAck], answers: list[list[Any]]) -> None:
        for one, states in zip(acks, answers, strict=True):
            for state in states:
                self._count_one(one.call.op, state)

    def _count_one(self, op: str, state: Any) -> None:
        counts = self.counts
        if isinstance(state, HeadraceError):
            counts.refused += 1
        elif op == "complete":
            counts.completed += 1
        elif op == "release":
            counts.released += 1
        elif state == "failed":
            counts.failed += 1
        else:
            counts.retried += 1
