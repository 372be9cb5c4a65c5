"""A run: the Spark job whose tasks are workers, as the driver sees it."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from functools import partial

from pyspark import InheritableThread, SparkContext

from headrace.client.client import Client
from headrace.errors import HeadraceError
from headrace.operations.values import Counts
from headrace.spark.executors.assignment import Assignment
from headrace.spark.executors.logged import ends_of, newest
from headrace.spark.executors.tally import Tally
from headrace.spark.executors.task import run_task
from headrace.spark.gist import gist, whole_message
from headrace.transport.drive import drive
from headrace.worker.sidecar import SidecarSession

log = logging.getLogger("headrace.spark")

# The driver's death is told by the sidecar of its session: this is for the death of the machine. A
# server that is away for less than this ends no run.
TTL = 60.0
# What Spark says when a process died and it did not try again itself, as on a local master.
DEATHS = ("Python worker exited unexpectedly", "ExecutorLostFailure")
LIVED = 10.0
MOST_DEATHS_IN_A_ROW = 5


class RunFailed(HeadraceError):
    """The Spark job of a run has failed; what its tasks held goes back to the queue."""


class Running:
    """Tasks at work, until they are told to stop."""

    def __init__(
        self, spark: SparkContext, client: Client, assignment: Assignment, tasks: int
    ) -> None:
        self._spark = spark
        self._client = client
        self._assignment = assignment
        self._tasks = tasks
        self._tally = Tally()
        self._begun_at = drive(client.core.transport, newest(client.core))
        self._error: BaseException | None = None
        self._stopping = threading.Event()
        self._over = threading.Event()
        self._ending = threading.Lock()
        self._session = SidecarSession(
            assignment.url, assignment.namespace, assignment.session, ttl=TTL
        )
        InheritableThread(target=self._run, name=assignment.session, daemon=True).start()

    def __repr__(self) -> str:
        return f"<Running {self._assignment.run!r} on {self._assignment.queue!r}>"

    @property
    def run(self) -> str:
        """What the run is called; its workers are spark-<run>-<task>-<attempt>-..."""
        return self._assignment.run

    def counts(self) -> Counts:
        """How many jobs of the queue are in which state."""
        return self._client.queue(self._assignment.queue).counts()

    def stop(self) -> None:
        """Tells the tasks to end after the batch at hand, and returns at once."""
        with self._ending:
            if not self._stopping.is_set():
                self._stopping.set()
                self._session.end()

    def wait(self, timeout: float | None = None) -> Tally:
        """What was done, when all tasks have ended; TimeoutError if that takes longer."""
        # Not by joining the thread: a join that Ctrl-C interrupts takes it for ended.
        if not self._over.wait(timeout):
            raise TimeoutError(f"{self!r} has not ended within {timeout} seconds")
        if self._error is not None:
            raise self._error
        return self._tally

    def cancel(self) -> None:
        """Ends the tasks at once, in the middle of what they do."""
        self._spark.cancelJobGroup(self._assignment.session)

    def _run(self) -> None:
        begun = time.monotonic()
        try:
            self._spark.setJobGroup(
                self._assignment.session, f"headrace: work on {self._assignment.queue}"
            )
            self._tally = self._with_the_dead(self._until_over())
        except Exception as error:  # noqa: BLE001 - it is raised to whoever waits
            self._error = error
        finally:
            self._tally.seconds = time.monotonic() - begun
            self.stop()
            self._client.close()
            self._over.set()

    def _with_the_dead(self, tally: Tally) -> Tally:
        """What the tasks said, and what those that died could not say."""
        if not tally.deaths:
            return tally
        core = self._client.core
        ends = drive(core.transport, ends_of(core, f"{self._assignment.session}-", self._begun_at))
        return replace(
            tally, completed=ends["completed"], failed=ends["failed"], retried=ends["retried"]
        )

    def _until_over(self) -> Tally:
        deaths = in_a_row = 0
        while True:
            begun = time.monotonic()
            try:
                tally = sum(self._collect(), Tally(deaths=deaths))
            except Exception as error:
                deaths += 1
                in_a_row = 1 if time.monotonic() > begun + LIVED else in_a_row + 1
                died = any(words in whole_message(error) for words in DEATHS)
                if not died or in_a_row > MOST_DEATHS_IN_A_ROW:
                    raise RunFailed(
                        f"the Spark job of the run has failed: {gist(error)}"
                    ) from error
                if self._stopping.is_set():
                    return Tally(deaths=deaths)
                log.warning("a task on queue %s died; tasks begin anew", self._assignment.queue)
            else:
                return tally

    def _collect(self) -> list[Tally]:
        slots = self._spark.parallelize(range(self._tasks), self._tasks)
        return slots.mapPartitions(partial(run_task, self._assignment)).collect()
