"""A Spark task of a `work` run: each task is a worker on an executor."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Self, cast

import pyarrow as pa
from pyspark import TaskContext, cloudpickle

from headrace.app.app import App
from headrace.client.client import Client
from headrace.codecs.codec import Codec, bound
from headrace.engine.call import Call, packed_pair
from headrace.engine.check import milliseconds, text
from headrace.errors import HeadraceError, InvalidArgument, SessionRequired, Unreadable
from headrace.operations import sessions
from headrace.operations.paging import all_items
from headrace.operations.popping import (
    MOST,
    Popped,
    divide_evenly,
    none_if_refused,
    pop,
    pop_call,
)
from headrace.operations.putting import job_payload
from headrace.operations.requests import ask, load
from headrace.operations.sessions import TTL
from headrace.options import UNSET
from headrace.spark.executors.job_table import JobRow
from headrace.spark.executors.outcomes import Function, Next, by_row, by_table, moved_to
from headrace.spark.options import ServerAddress
from headrace.transport.drive import drive
from headrace.worker.acks import AckBuffer
from headrace.worker.poison import is_suspect
from headrace.worker.sidecar import SidecarSession
from headrace.worker.task_call import (
    Done,
    UnreadableData,
    Unwritable,
    outcome_of_error,
    pack_result,
)

# The seconds that a task without jobs waits before it checks whether the run is over.
LOOK_EVERY = 1.0
LOOK_WHETHER_EMPTY = 0.1
CONNECT_FOR = 60
TIMEOUT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The settings of a run. The driver sends the same settings to every task."""

    run: str
    server: ServerAddress
    queue: str
    codec: Codec
    function: bytes
    batch: int
    frame: str
    schema: pa.Schema | None
    next: str | None
    ends_when_empty: bool

    @property
    def session(self) -> str:
        """The name of the driver's session. The tasks end when this session ends."""
        return f"spark-{self.run}"


@dataclass(slots=True)
class WorkCounts:
    """The number of jobs that a run processed, by outcome.

    If tasks died, the counts `completed`, `failed` and `retried` are read from the event log. These
    counts include the jobs of dead tasks, except jobs whose events were trimmed. The counts
    `released`, `refused`, `batches` and `tasks` do not include the work of dead tasks. They include
    only the last run of each task, and only if that run ended normally.
    """

    completed: int = 0
    """Jobs that succeeded, including jobs that moved to another queue."""
    failed: int = 0
    """Jobs that failed permanently, including jobs that killed their task too often."""
    retried: int = 0
    """Jobs that failed and will be retried."""
    released: int = 0
    """Jobs that the function returned to the queue with Snooze."""
    refused: int = 0
    """Jobs that were reclaimed or cancelled before the task sent their outcome."""
    batches: int = 0
    tasks: int = 0
    deaths: int = 0
    """Tasks that died and were started again."""
    seconds: float = 0.0

    def __add__(self, other: Self) -> Self:
        return type(self)(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )


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
        # If a batch cannot be divided evenly among the shards, the shards take turns in providing
        # the extra jobs.
        self._turn = 0
        self._make_pop = pop_call(self._queue, worker, 1, math.inf)

    def finish(self, popped: Popped, outcome: Any) -> None:
        """Record the outcome of a job. The next round trip sends the outcome."""
        try:
            self._finish(popped, outcome)
        except (Unwritable, InvalidArgument) as error:
            self._finish(popped, Unwritable(str(error)))

    def _finish(self, popped: Popped, outcome: Any) -> None:
        if isinstance(outcome, BaseException):
            self._acks.acknowledge(popped, outcome_of_error(self._app, popped, outcome, None))
        elif isinstance(outcome, Next):
            queue = text("next", outcome.queue, self._core.limits.name)
            delay = milliseconds("delay", outcome.delay) / 1000
            self._acks.move(popped, queue, self._moved_data(popped, outcome.data, queue), delay)
        else:
            self._acks.acknowledge(popped, Done(pack_result(self._app, popped.id, outcome)))

    def _moved_data(self, popped: Popped, data: Any, queue: str) -> bytes:
        codec = self._core.codec
        if data is UNSET and self._core.binds:
            # The payload belongs to the old queue, so the next queue needs a new payload.
            data = bound(codec, popped.id, popped.record.queue).decode(popped.payload)
        if data is UNSET:
            return b""
        return packed_pair(None, job_payload(self._core, data, popped.id, queue))

    def send(self) -> None:
        """Send the recorded outcomes."""
        if self._acks:
            self._exchange([])

    def send_and_pop(self) -> list[Popped]:
        """Send the recorded outcomes and pop up to one batch of jobs, in one round trip."""
        pops = self._divided()
        self._turn += 1
        return self._exchange(
            [(shard, none_if_refused(self._make_pop(count))) for shard, count in pops]
        )

    def _exchange(self, pops: list[tuple[int, Call[Any]]]) -> list[Popped]:
        acks = self._acks.take()
        calls = [*((ack.shard, ack.call) for ack in acks), *pops]
        answers = drive(self._core.transport, ask(self._core, calls))
        for ack, states in zip(acks, answers[: len(acks)], strict=True):
            for state in states:
                self._count(ack.call.op, state)
        return [popped for handout in answers[len(acks) :] if handout for popped in handout.jobs]

    def wait(self, seconds: float) -> list[Popped]:
        """Wait for jobs and return the jobs. Return an empty list if no job arrives in time."""
        count = min(self._batch, MOST)
        operation = pop(self._queue, self._worker, count=count, lease=math.inf, wait=seconds)
        try:
            return drive(self._core.transport, operation)
        except SessionRequired:
            # The session expired. The task starts a new session before the next pop.
            return []

    def is_empty(self, run: str) -> bool:
        """Return whether no job waits and no worker of the run holds a job.

        While a worker holds a job, the queue does not count as empty: the job could return.
        """
        workers = drive(self._core.transport, all_items(sessions.workers, self._client))
        if any(worker.jobs for worker in workers if worker.name.startswith(run)):
            return False
        counts = self._queue.counts()
        return not (counts.waiting or counts.due or counts.late)

    def _divided(self) -> list[tuple[int, int]]:
        """Return the number of jobs to pop from each shard. One pop returns at most MOST jobs."""
        shards = list(range(self._core.shards))
        first = self._turn % len(shards)
        rotated = shards[first:] + shards[:first]
        return [
            (shard, min(MOST, wanted - popped))
            for shard, wanted in divide_evenly(rotated, self._batch)
            for popped in range(0, wanted, MOST)
        ]

    def _count(self, op: str, state: Any) -> None:
        if isinstance(state, HeadraceError):
            name = "refused"
        elif op == "fail":
            name = "failed" if state == "failed" else "retried"
        else:
            name = "completed" if op == "complete" else "released"
        setattr(self.counts, name, getattr(self.counts, name) + 1)


class ExecutorTask:
    """Processes jobs of a queue until the run is over."""

    def __init__(self, assignment: Assignment, client: Client, worker: str) -> None:
        self._assignment = assignment
        self._worker = worker
        self._function: Function = cloudpickle.loads(assignment.function)
        server = assignment.server
        app = App(server.namespace, url=server.url, codec=assignment.codec)
        self._exchange = JobExchange(client, app, assignment.queue, worker, assignment.batch)
        self._session = self._begin_session()

    def work(self) -> WorkCounts:
        """Process jobs until the run is over, and return the counts."""
        ends_when_empty = self._assignment.ends_when_empty
        pause = LOOK_WHETHER_EMPTY if ends_when_empty else LOOK_EVERY
        while not self._session.watched_is_over():
            if not self._session.is_kept():
                self._session = self._begin_session()
            jobs = self._exchange.send_and_pop() or self._exchange.wait(pause)
            if jobs:
                self._process(jobs)
            elif ends_when_empty and self._exchange.is_empty(f"{self._assignment.session}-"):
                break
        self._exchange.send()
        self._session.end()
        return self._exchange.counts

    def _begin_session(self) -> SidecarSession:
        assignment = self._assignment
        return SidecarSession(
            assignment.server.url,
            assignment.server.namespace,
            self._worker,
            ttl=TTL,
            queues=(assignment.queue,),
            watched=assignment.session,
        )

    def _process(self, jobs: list[Popped]) -> None:
        """Process jobs in one batch, but run each suspect (see `is_suspect`) alone."""
        alone = [popped for popped in jobs if is_suspect(popped)]
        if not alone:
            self._run(jobs)
            return
        together = [popped for popped in jobs if not is_suspect(popped)]
        for some in ([together] if together else []) + [[popped] for popped in alone]:
            self._session.set_started([popped.id for popped in some])
            self._run(some)
            self._exchange.send()
        self._session.set_started(None)

    def _run(self, jobs: list[Popped]) -> None:
        self._exchange.counts.batches += 1
        outcomes = self._outcomes(jobs)
        next_queue = self._assignment.next
        for popped in jobs:
            outcome = outcomes[popped.id]
            if next_queue is not None:
                outcome = moved_to(outcome, next_queue)
            self._exchange.finish(popped, outcome)

    def _outcomes(self, jobs: list[Popped]) -> dict[str, Any]:
        assignment = self._assignment
        found: dict[str, Any] = {}
        rows: list[JobRow] = []
        for popped in jobs:
            record = popped.record
            try:
                data = bound(assignment.codec, popped.id, record.queue).decode(popped.payload)
            except Unreadable as error:
                found[popped.id] = UnreadableData(str(error))
            else:
                tags = record.extras().tags
                rows.append(JobRow(popped.id, record.attempt, record.priority, tags, data))
        if assignment.frame == "rows":
            found.update(by_row(self._function, rows))
        elif rows:
            found.update(by_table(self._function, rows, assignment.frame, assignment.schema))
        return found


def run_task(assignment: Assignment, _rows: Iterator[Any]) -> Iterator[WorkCounts]:
    """Run one task on an executor, and yield its counts. Spark calls this function."""
    context = cast(TaskContext, TaskContext.get())
    attempt = context.attemptNumber()
    worker = f"{assignment.session}-{context.partitionId()}-{attempt}-{secrets.token_hex(4)}"
    with assignment.server.open_with(assignment.codec, CONNECT_FOR, TIMEOUT) as client:
        drive(client.core.transport, load(client.core))
        # Retry without limit, because a pop may have leased jobs although its reply was lost.
        client.core.retry_for = math.inf
        counts = ExecutorTask(assignment, client, worker).work()
    counts.deaths = attempt
    yield counts
