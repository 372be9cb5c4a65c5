"""A task of a run: a worker on an executor."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from typing import Any, cast

from pyspark import TaskContext, cloudpickle

from headrace.app.app import App
from headrace.client import connect as connecting
from headrace.client.client import Client
from headrace.codecs.codec import Codec
from headrace.errors import Unreadable
from headrace.operations.popping import Popped
from headrace.operations.requests import load
from headrace.operations.sessions import TTL
from headrace.spark.executors.assignment import Assignment
from headrace.spark.executors.job_exchange import JobExchange
from headrace.spark.executors.job_table import JobRow
from headrace.spark.executors.outcomes import moved_to
from headrace.spark.executors.user_function import by_row, by_table
from headrace.spark.executors.work_counts import WorkCounts
from headrace.transport.drive import drive
from headrace.worker.poison import is_suspect
from headrace.worker.process import SCRIPTS
from headrace.worker.run import UnreadableData
from headrace.worker.sidecar import SidecarSession

# How long a task without jobs waits before it checks whether the run is over.
LOOK_EVERY = 1.0
LOOK_WHETHER_EMPTY = 0.1
CONNECT_FOR = 60
TIMEOUT = 5


class ExecutorTask:
    """Processes jobs of a queue until the run is over."""

    def __init__(self, assignment: Assignment, client: Client, worker: str) -> None:
        self._assignment = assignment
        self._worker = worker
        self._codec: Codec = client.core.codec
        self._function = cloudpickle.loads(assignment.function)
        app = App(assignment.namespace, url=assignment.url, codec=assignment.codec)
        self._exchange = JobExchange(client, app, assignment.queue, worker, assignment.batch)
        self._session = self._begin_session()

    def work(self) -> WorkCounts:
        """Process jobs until the run is over, and return the counts."""
        while not self._session.watched_is_over():
            if not self._session.is_kept():
                self._session = self._begin_session()
            jobs = self._exchange.send_and_pop() or self._exchange.wait(self._wait_time)
            if jobs:
                self._process(jobs)
            elif self._assignment.ends_when_empty and self._is_empty():
                break
        self._exchange.send()
        self._session.end()
        return self._exchange.counts

    @property
    def _wait_time(self) -> float:
        return LOOK_WHETHER_EMPTY if self._assignment.ends_when_empty else LOOK_EVERY

    def _is_empty(self) -> bool:
        return self._exchange.is_empty(f"{self._assignment.session}-")

    def _begin_session(self) -> SidecarSession:
        assignment = self._assignment
        return SidecarSession(
            assignment.url,
            assignment.namespace,
            self._worker,
            ttl=TTL,
            queues=(assignment.queue,),
            watched=assignment.session,
        )

    def _process(self, jobs: list[Popped]) -> None:
        """Process a batch together, but run jobs alone that were often lost with their worker."""
        alone = [popped for popped in jobs if is_suspect(popped)]
        if not alone:
            self._run(jobs)
            return
        suspects = {popped.id for popped in alone}
        together = [popped for popped in jobs if popped.id not in suspects]
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
        found: dict[str, Any] = {}
        rows: list[JobRow] = []
        for popped in jobs:
            try:
                rows.append(self._row(popped))
            except Unreadable as error:
                found[popped.id] = UnreadableData(str(error))
        if self._assignment.frame == "rows":
            found.update(by_row(self._function, rows))
        elif rows:
            assignment = self._assignment
            found.update(by_table(self._function, rows, assignment.frame, assignment.schema))
        return found

    def _row(self, popped: Popped) -> JobRow:
        record = popped.record
        data = self._codec.decode(popped.payload)
        return JobRow(popped.id, record.attempt, record.priority, record.extras().tags, data)


def run_task(assignment: Assignment, _rows: Iterator[Any]) -> Iterator[WorkCounts]:
    """Run one task on an executor, and yield its counts. Spark calls this."""
    context = cast(TaskContext, TaskContext.get())
    worker = assignment.worker(context.partitionId(), context.attemptNumber(), secrets.token_hex(4))
    asked = connecting.ConnectOptions(
        assignment.url,
        assignment.namespace,
        codec=assignment.codec,
        retry_for=CONNECT_FOR,
        timeout=TIMEOUT,
    )
    with connecting.connect(asked) as client:
        drive(client.core.transport, load(client.core, SCRIPTS))
        # Retry without limit: a pop whose reply was lost has already leased jobs.
        client.core.retry_for = math.inf
        counts = ExecutorTask(assignment, client, worker).work()
    counts.deaths = context.attemptNumber()
    yield counts
