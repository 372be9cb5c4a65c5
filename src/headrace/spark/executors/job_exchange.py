"""Acknowledge finished jobs and pop new ones in one round trip."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from headrace.app.app import App
from headrace.client.client import Client
from headrace.engine.call import Call, is_refusal, packed_pair
from headrace.engine.check import PAGE, milliseconds, text
from headrace.errors import HeadraceError, InvalidArgument, SessionRequired
from headrace.operations.popping import MOST, Handout, Popped, pop, pop_call
from headrace.operations.put_options import UNSET
from headrace.operations.putting import payload_for
from headrace.operations.requests import ask
from headrace.operations.sessions import workers
from headrace.spark.executors.outcomes import Next
from headrace.spark.executors.work_counts import WorkCounts
from headrace.transport.drive import drive
from headrace.worker.outbox import Outbox, Said
from headrace.worker.run import Done, Unwritable, failed, packed_value


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
        self._outbox = Outbox(client.core)
        # If a batch cannot be divided evenly, the remainder rotates over the shards.
        self._turn = 0
        self._make_pop = pop_call(self._queue, worker, 1, math.inf)

    def finish(self, popped: Popped, outcome: Any) -> None:
        """Record the outcome of a job. The next round trip sends it."""
        try:
            self._finish(popped, outcome)
        except (Unwritable, InvalidArgument) as error:
            self._outbox.say(popped, failed(self._app, popped, Unwritable(str(error)), None))

    def _finish(self, popped: Popped, outcome: Any) -> None:
        if isinstance(outcome, BaseException):
            self._outbox.say(popped, failed(self._app, popped, outcome, None))
        elif isinstance(outcome, Next):
            queue = text("next", outcome.queue, self._core.limits.name)
            delay = milliseconds("delay", outcome.delay) / 1000
            self._outbox.move(popped, queue, self._new_data(outcome.data), delay)
        else:
            self._outbox.say(popped, Done(packed_value(self._app, outcome)))

    def _new_data(self, data: Any) -> bytes:
        if data is UNSET:
            return b""
        return packed_pair(None, payload_for(data, self._core.codec, self._core.limits))

    def send(self) -> None:
        """Send the recorded outcomes."""
        said = self._outbox.take()
        if said:
            answers = drive(
                self._core.transport, ask(self._core, [(one.shard, one.call) for one in said])
            )
            self._count(said, answers)

    def send_and_pop(self) -> list[Popped]:
        """Send the recorded outcomes and pop up to one batch of jobs, in one round trip."""
        said = self._outbox.take()
        pops = self._divided()
        self._turn += 1
        calls: list[tuple[int, Call[Any]]] = [(one.shard, one.call) for one in said]
        calls += [(shard, self._pop(count)) for shard, count in pops]
        answers = drive(self._core.transport, ask(self._core, calls))
        self._count(said, answers[: len(said)])
        return [popped for handout in answers[len(said) :] if handout for popped in handout.jobs]

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
        shards = self._core.shards
        share, rest = divmod(self._batch, shards)
        return [
            (shard, min(MOST, wanted - begun))
            for shard in range(shards)
            for wanted in [share + ((shard - self._turn) % shards < rest)]
            for begun in range(0, wanted, MOST)
        ]

    def _pop(self, count: int) -> Call[Handout | None]:
        call = self._make_pop(count)
        return Call(
            call.op, call.args, lambda reply: None if is_refusal(reply) else call.decode(reply)
        )

    def _count(self, said: list[Said], answers: list[list[Any]]) -> None:
        for one, states in zip(said, answers, strict=True):
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
