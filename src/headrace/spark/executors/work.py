"""The function work: process the jobs of a queue in tasks on Spark executors."""

from __future__ import annotations

import logging
import pickle
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypedDict, Unpack, cast, overload

import pyarrow as pa
from pyspark import SparkContext, cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from headrace.client.client import Client
from headrace.codecs.codec import Codec, codec_of
from headrace.engine import keys
from headrace.engine.check import Limits, choice, text, whole
from headrace.errors import InvalidArgument, QueueNotFound
from headrace.operations.requests import raw
from headrace.spark.executors.task import Assignment, WorkCounts
from headrace.spark.executors.work_run import WorkRun
from headrace.spark.options import ServerAddress
from headrace.transport.drive import drive
from headrace.transport.transport import Command

log = logging.getLogger("headrace.spark")

FRAMES = ("arrow", "pandas", "rows")
UNTIL = ("empty", "stopped")
MOST_JOBS = 10_000
MOST_TASKS = 10_000
LOG_EVERY = 10.0

# An Arrow schema, a Spark StructType, or a Spark schema as text.
Schema = Any


class WorkOptions(TypedDict, total=False):
    """The keyword arguments of `work`, except `until`."""

    batch: int
    frame: str
    schema: Schema | None
    next: str | None
    tasks: int | None
    url: str | None
    namespace: str
    codec: str | Codec


@overload
def work(
    spark: SparkSession,
    queue: str,
    function: Callable[[Any], Any],
    *,
    until: Literal["empty"] = "empty",
    **options: Unpack[WorkOptions],
) -> WorkCounts: ...


@overload
def work(
    spark: SparkSession,
    queue: str,
    function: Callable[[Any], Any],
    *,
    until: Literal["stopped"],
    **options: Unpack[WorkOptions],
) -> WorkRun: ...


def work(
    spark: SparkSession,
    queue: str,
    function: Callable[[Any], Any],
    *,
    until: str = "empty",
    batch: int = 1000,
    frame: str = "arrow",
    schema: Schema | None = None,
    next: str | None = None,  # noqa: A002 - as in Lease.complete
    tasks: int | None = None,
    url: str | None = None,
    namespace: str = "default",
    codec: str | Codec = "json",
) -> WorkCounts | WorkRun:
    """Process the jobs of a queue on Spark executors, in batches.

    The function gets an Arrow table. With frame="pandas", the function gets a pandas DataFrame.
    With frame="rows", the function gets one JobRow at a time. The function returns None, or one
    outcome for each job, as a list or as columns. An outcome is a value, an exception or a Next.
    Jobs that succeed become complete, or move to the queue `next`.

    With until="empty", wait until no job waits or runs, and return the counts. With
    until="stopped", return a WorkRun at once. Raises InvalidArgument for a wrong argument,
    QueueNotFound if the queue does not exist, and RunFailed if the Spark job fails.

        counts = headrace.spark.work(spark, "letters", lambda jobs: jobs["data.to"])
        print(counts.completed, counts.failed)
    """
    context = _context(spark)
    choice("until", until, UNTIL)
    pickled = _pickled(function)
    name = text("queue", queue, Limits().name)
    server = ServerAddress.read({"namespace": namespace} | ({"url": url} if url else {}))
    _check_reach(context, url)
    arrow_schema = _arrow_schema(schema)
    settled = server.settled()
    assignment = Assignment(
        run=f"{context.applicationId}-{secrets.token_hex(3)}",
        server=settled,
        queue=name,
        codec=codec_of(codec),
        function=pickled,
        batch=whole("batch", batch, 1, MOST_JOBS),
        frame=choice("frame", frame, FRAMES),
        schema=arrow_schema,
        next=None if next is None else text("next", next, Limits().name),
        ends_when_empty=until == "empty",
    )
    count = context.defaultParallelism if tasks is None else whole("tasks", tasks, 1, MOST_TASKS)
    client = settled.open()
    try:
        _check_queue(client, assignment)
    except BaseException:
        client.close()
        raise
    run = WorkRun(context, client, assignment, count)
    return run if until == "stopped" else _finished(run, name)


def _context(spark: Any) -> SparkContext:
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise InvalidArgument(
            "work does not support Spark Connect: call work in the driver, with a session from "
            "SparkSession.builder.master(...)"
        )
    if not isinstance(spark, SparkSession):
        raise InvalidArgument(f"spark must be a SparkSession, not {type(spark).__name__}")
    return spark.sparkContext


def _pickled(function: Any) -> bytes:
    if not callable(function):
        raise InvalidArgument(f"function must be callable, not {type(function).__name__}")
    try:
        return bytes(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]
    except (pickle.PicklingError, TypeError, RuntimeError, AttributeError) as error:
        raise InvalidArgument(
            f"the function cannot be pickled for the executors: {error}. Open connections, locks "
            "and files inside the function, and do not use the Spark session in the function"
        ) from error


def _arrow_schema(schema: Schema | None) -> pa.Schema | None:
    if schema is None or isinstance(schema, pa.Schema):
        return schema
    try:
        found = StructType.fromDDL(schema) if isinstance(schema, str) else schema
        return to_arrow_schema(cast(StructType, found))
    except Exception as error:
        raise InvalidArgument(
            "schema must be an Arrow schema, a Spark StructType, or text such as "
            f"'user string, amount double': {error}"
        ) from error


def _check_reach(context: SparkContext, url: str | None) -> None:
    if not url and not str(context.master).startswith("local"):
        raise InvalidArgument(
            f"the executors of {context.master} cannot reach the embedded server of this machine: "
            "pass the url= of a server that all executors can reach"
        )


def _check_queue(client: Client, assignment: Assignment) -> None:
    """Check that tasks can use the queue. With until="stopped", the queue may be created later."""
    core = client.core
    settings: list[Command] = [
        (shard, ("EXISTS", core.key(shard, keys.settings(assignment.queue))))
        for shard in range(core.shards)
    ]
    if assignment.ends_when_empty and not any(drive(core.transport, raw(core, settings))):
        raise QueueNotFound(assignment.queue)
    if client.queue(assignment.queue).settings()["session"] == "none":
        raise InvalidArgument(
            f"queue {assignment.queue!r} has session='none', so the leases of tasks would expire: "
            "configure the queue with session='optional'"
        )


def _finished(run: WorkRun, queue: str) -> WorkCounts:
    """Wait for the end of a run.

    The first Ctrl-C ends the run after the current batches. A second Ctrl-C kills the tasks.
    """
    with _interruptible():
        try:
            return _logged(run, queue)
        except KeyboardInterrupt:
            log.info("shutting down: waiting for the running batches of queue %s", queue)
            try:
                run.stop()
                run.wait()
            except KeyboardInterrupt:
                run.cancel()
            raise


def _logged(run: WorkRun, queue: str) -> WorkCounts:
    """Wait for the end of a run, and log its progress."""
    warned_of_pause = False
    timeout = 0.0
    while True:
        try:
            done = run.wait(timeout)
        except TimeoutError:
            timeout = LOG_EVERY
            counts = run.counts()
            log.info("queue %s: %d waiting, %d running", queue, counts.waiting, counts.running)
            if counts.paused and not warned_of_pause:
                warned_of_pause = True
                log.warning(
                    "queue %s is paused; resume it with headrace resume %s or queue.resume(), or "
                    "press Ctrl-C to end the run",
                    queue,
                    queue,
                )
        else:
            log.info("queue %s: %s", queue, done)
            return done


@contextmanager
def _interruptible() -> Iterator[None]:
    """Replace Spark's Ctrl-C handler, because that handler would cancel all Spark jobs at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
