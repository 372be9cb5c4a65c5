"""What a task says to the server and asks of it: ends and pops, in one round trip."""

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
from headrace.operations.putting import payload_for
from headrace.operations.requests import ask
from headrace.operations.sessions import workers
from headrace.options import UNSET
from headrace.spark.executors.tally import Tally
from headrace.spark.executors.verdicts import Next
from headrace.transport.drive import drive
from headrace.worker.acks import AckBuffer, PendingAck
from headrace.worker.run import Done, Unwritable, outcome_of_error, pack_result


class Desk:
    """Where the jobs of one task come from, and where what became of them is told."""

    def __init__(self, client: Client, app: App, queue: str, worker: str, batch: int) -> None:
        self.tally = Tally(tasks=1)
        self._core = client.core
        self._client = client
        self._app = app
        self._queue = client.queue(queue)
        self._worker = worker
        self._batch = batch
        self._outbox = AckBuffer(client.core)
        # Where a batch cannot be divided evenly, another shard has the rest each time.
        self._turn = 0
        self._make_pop = pop_call(self._queue, worker, 1, math.inf)

    def say(self, popped: Popped, verdict: Any) -> None:
        """What became of a job; it is told with the next trip."""
        try:
            self._say(popped, verdict)
        except (Unwritable, InvalidArgument) as error:
            self._outbox.acknowledge(
                popped, outcome_of_error(self._app, popped, Unwritable(str(error)), None)
            )

    def _say(self, popped: Popped, verdict: Any) -> None:
        if isinstance(verdict, BaseException):
            self._outbox.acknowledge(popped, outcome_of_error(self._app, popped, verdict, None))
        elif isinstance(verdict, Next):
            queue = text("next", verdict.queue, self._core.limits.name)
            delay = milliseconds("delay", verdict.delay) / 1000
            self._outbox.move(popped, queue, self._new_data(verdict.data), delay)
        else:
            self._outbox.acknowledge(popped, Done(pack_result(self._app, verdict)))

    def _new_data(self, data: Any) -> bytes:
        if data is UNSET:
            return b""
        return packed_pair(None, payload_for(data, self._core.codec, self._core.limits))

    def tell(self) -> None:
        """Tells what is to be told, and asks for nothing."""
        said = self._outbox.take()
        if said:
            answers = drive(
                self._core.transport, ask(self._core, [(one.shard, one.call) for one in said])
            )
            self._count(said, answers)

    def tell_and_ask(self) -> list[Popped]:
        """The same, and up to a batch of jobs come back."""
        said = self._outbox.take()
        asked = self._divided()
        self._turn += 1
        calls: list[tuple[int, Call[Any]]] = [(one.shard, one.call) for one in said]
        calls += [(shard, self._pop(count)) for shard, count in asked]
        answers = drive(self._core.transport, ask(self._core, calls))
        self._count(said, answers[: len(said)])
        return [popped for handout in answers[len(said) :] if handout for popped in handout.jobs]

    def wait(self, seconds: float) -> list[Popped]:
        """Some jobs, as soon as there are any; none if none came in that time."""
        count = min(self._batch, MOST)
        operation = pop(self._queue, self._worker, count=count, lease=math.inf, wait=seconds)
        try:
            return drive(self._core.transport, operation)
        except SessionRequired:
            # It lapsed; who keeps it begins a new one.
            return []

    def is_empty(self, run: str) -> bool:
        """Whether nothing waits, and no worker of the run holds what may have to wait again."""
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
        """Which shard is asked for how many; no pop gives more than MOST."""
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

    def _count(self, said: list[PendingAck], answers: list[list[Any]]) -> None:
        for one, states in zip(said, answers, strict=True):
            for state in states:
                self._count_one(one.call.op, state)

    def _count_one(self, op: str, state: Any) -> None:
        tally = self.tally
        if isinstance(state, HeadraceError):
            tally.refused += 1
        elif op == "complete":
            tally.completed += 1
        elif op == "release":
            tally.released += 1
        elif state == "failed":
            tally.failed += 1
        else:
            tally.retried += 1
