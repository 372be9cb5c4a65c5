"""A task of the run: a worker on an executor."""

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
from headrace.spark.executors.calls import by_row, by_table
from headrace.spark.executors.desk import Desk
from headrace.spark.executors.frames import Row
from headrace.spark.executors.tally import Tally
from headrace.spark.executors.verdicts import moved_on
from headrace.transport.drive import drive
from headrace.worker.poison import is_suspect
from headrace.worker.process import SCRIPTS
from headrace.worker.run import UnreadableData
from headrace.worker.sidecar import SidecarSession

# How long a task that finds nothing waits until it looks whether the run is over.
LOOK_EVERY = 1.0
LOOK_WHETHER_EMPTY = 0.1
CONNECT_FOR = 60
TIMEOUT = 5


class Task:
    """Works off jobs of a queue until the run is over."""

    def __init__(self, assignment: Assignment, client: Client, worker: str) -> None:
        self._assignment = assignment
        self._worker = worker
        self._codec: Codec = client.core.codec
        self._function = cloudpickle.loads(assignment.function)
        app = App(assignment.namespace, url=assignment.url, codec=assignment.codec)
        self._desk = Desk(client, app, assignment.queue, worker, assignment.batch)
        self._session = self._begin_session()

    def work(self) -> Tally:
        """Works; returns what was done."""
        while not self._session.watched_is_over():
            if not self._session.is_kept():
                self._session = self._begin_session()
            jobs = self._desk.tell_and_ask() or self._desk.wait(self._patience)
            if jobs:
                self._work_off(jobs)
            elif self._assignment.ends_when_empty and self._is_empty():
                break
        self._desk.tell()
        self._session.end()
        return self._desk.tally

    @property
    def _patience(self) -> float:
        return LOOK_WHETHER_EMPTY if self._assignment.ends_when_empty else LOOK_EVERY

    def _is_empty(self) -> bool:
        return self._desk.is_empty(f"{self._assignment.session}-")

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

    def _work_off(self, jobs: list[Popped]) -> None:
        """All at once, but for those that were lost with their workers again and again."""
        alone = [popped for popped in jobs if is_suspect(popped)]
        if not alone:
            self._judge(jobs)
            return
        lost = {popped.id for popped in alone}
        together = [popped for popped in jobs if popped.id not in lost]
        for some in ([together] if together else []) + [[popped] for popped in alone]:
            self._session.set_started([popped.id for popped in some])
            self._judge(some)
            self._desk.tell()
        self._session.set_started(None)

    def _judge(self, jobs: list[Popped]) -> None:
        self._desk.tally.batches += 1
        verdicts = self._verdicts(jobs)
        onward = self._assignment.next
        for popped in jobs:
            verdict = verdicts[popped.id]
            self._desk.say(popped, verdict if onward is None else moved_on(verdict, onward))

    def _verdicts(self, jobs: list[Popped]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        rows: list[Row] = []
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

    def _row(self, popped: Popped) -> Row:
        record = popped.record
        data = self._codec.decode(popped.payload)
        return Row(popped.id, record.attempt, record.priority, record.extras().tags, data)


def run_task(assignment: Assignment, _rows: Iterator[Any]) -> Iterator[Tally]:
    """What Spark runs on an executor."""
    context = cast(TaskContext, TaskContext.get())
    worker = assignment.worker(context.partitionId(), context.attemptNumber(), secrets.token_hex(4))
    asked = connecting.wanted(
        assignment.url,
        assignment.namespace,
        None,
        assignment.codec,
        None,
        None,
        CONNECT_FOR,
        TIMEOUT,
    )
    with connecting.connect(asked) as client:
        drive(client.core.transport, load(client.core, SCRIPTS))
        # What is asked is asked until it is answered: a pop whose answer was lost has taken jobs.
        client.core.retry_for = math.inf
        tally = Task(assignment, client, worker).work()
    tally.deaths = context.attemptNumber()
    yield tally
