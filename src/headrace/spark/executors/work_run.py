"""The driver's side of a run: a Spark job whose tasks are workers."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import InheritableThread, SparkContext

from headrace.client.client import Client
from headrace.errors import HeadraceError
from headrace.lake.event_columns import event_columns
from headrace.operations.core import Core
from headrace.operations.event_log import ENTRIES_PER_READ, logs, read_entries
from headrace.operations.values import Counts
from headrace.spark.error_summary import error_summary, full_message
from headrace.spark.executors.task import Assignment, WorkCounts, run_task
from headrace.transport.drive import Operation, drive
from headrace.worker.sidecar import SidecarSession

log = logging.getLogger("headrace.spark")

# If the driver process dies, the sidecar process of the driver's session ends the run. If the whole
# machine fails, the session expires after this TTL in seconds. A server outage shorter than the TTL
# does not end the run.
TTL = 60.0
# If a worker process dies and Spark does not retry the task of that process, Spark's error message
# contains one of these texts.
DEATHS = ("Python worker exited unexpectedly", "ExecutorLostFailure")
LIVED = 10.0
MOST_DEATHS_IN_A_ROW = 5


class RunFailed(HeadraceError):
    """The Spark job of a run failed. Jobs leased to the run return to the queue."""


class WorkRun:
    """A run of `work` with until="stopped": tasks that process jobs until stop() is called.

    run = work(spark, "mail", send, until="stopped")
    ...
    run.stop()
    print(run.wait().completed)
    """

    def __init__(
        self, spark: SparkContext, client: Client, assignment: Assignment, tasks: int
    ) -> None:
        self._spark = spark
        self._client = client
        self._assignment = assignment
        self._tasks = tasks
        self._counts = WorkCounts()
        ends = drive(client.core.transport, logs(client.core))
        self._started_at = [each.newest for each in ends]
        self._error: BaseException | None = None
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._ending = threading.Lock()
        server = assignment.server
        self._session = SidecarSession(server.url, server.namespace, assignment.session, ttl=TTL)
        InheritableThread(target=self._run, name=assignment.session, daemon=True).start()

    def __repr__(self) -> str:
        return f"<WorkRun {self._assignment.run!r} on {self._assignment.queue!r}>"

    @property
    def run(self) -> str:
        """The id of the run. The workers of the run are named spark-<run>-<task>-<attempt>-..."""
        return self._assignment.run

    def counts(self) -> Counts:
        """Return the number of jobs of the queue in each state."""
        return self._client.queue(self._assignment.queue).counts()

    def stop(self) -> None:
        """Tell the tasks to end after their current batch, and return at once."""
        with self._ending:
            if not self._stopping.is_set():
                self._stopping.set()
                self._session.end()

    def wait(self, timeout: float | None = None) -> WorkCounts:
        """Wait until all tasks have ended, and return the counts.

        Raises TimeoutError if the tasks take longer than `timeout` seconds, and RunFailed if the
        Spark job failed.
        """
        # Do not use Thread.join: if Ctrl-C interrupts a join, Python treats the thread as ended.
        if not self._ended.wait(timeout):
            raise TimeoutError(f"{self!r} did not end within {timeout} s")
        if self._error is not None:
            raise self._error
        return self._counts

    def cancel(self) -> None:
        """Kill the tasks immediately. The jobs of killed tasks return to the queue."""
        self._spark.cancelJobGroup(self._assignment.session)

    def _run(self) -> None:
        started = time.monotonic()
        try:
            self._spark.setJobGroup(
                self._assignment.session, f"headrace: work on {self._assignment.queue}"
            )
            self._counts = self._with_dead_tasks(self._until_over())
        except Exception as error:  # noqa: BLE001 - wait() raises it
            self._error = error
        finally:
            self._counts.seconds = time.monotonic() - started
            self.stop()
            self._client.close()
            self._ended.set()

    def _with_dead_tasks(self, counts: WorkCounts) -> WorkCounts:
        """Return the counts including the work of tasks that died."""
        if not counts.deaths:
            return counts
        core = self._client.core
        workers = f"{self._assignment.session}-"
        ends = drive(core.transport, _count_from_log(core, workers, self._started_at))
        return replace(counts, **{name: ends[name] for name in ("completed", "failed", "retried")})

    def _until_over(self) -> WorkCounts:
        deaths = in_a_row = 0
        while True:
            started = time.monotonic()
            try:
                slots = self._spark.parallelize(range(self._tasks), self._tasks)
                done = slots.mapPartitions(partial(run_task, self._assignment)).collect()
                counts = sum(done, WorkCounts(deaths=deaths))
            except Exception as error:
                deaths += 1
                in_a_row = 1 if time.monotonic() > started + LIVED else in_a_row + 1
                died = any(text in full_message(error) for text in DEATHS)
                if not died or in_a_row > MOST_DEATHS_IN_A_ROW:
                    raise RunFailed(
                        f"the Spark job of the run failed: {error_summary(error)}"
                    ) from error
                if self._stopping.is_set():
                    return WorkCounts(deaths=deaths)
                log.warning("a task on queue %s died; restarting the tasks", self._assignment.queue)
            else:
                return counts


def _count_from_log(core: Core, workers: str, after: list[str]) -> Operation[Counter[str]]:
    """Count the events of each kind for the workers whose names start with `workers`.

    `after` has one log entry for each shard. Only events after these entries count.
    """
    found: Counter[str] = Counter()
    for shard, start in enumerate(after):
        seen = start
        while entries := (yield from read_entries(core, shard, seen, "+", ENTRIES_PER_READ)):
            found += _by_kind(event_columns(shard, entries), workers)
            seen = entries[-1][0].decode()
    return found


def _by_kind(events: pa.RecordBatch, workers: str) -> Counter[str]:
    theirs = events.filter(pc.starts_with(events["worker"], workers))
    kinds = theirs["kind"].value_counts().to_pylist()
    return Counter({kind["values"]: kind["counts"] for kind in kinds})
