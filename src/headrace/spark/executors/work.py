"""work: jobs of a queue are worked off by tasks on the executors of Spark."""

from __future__ import annotations

import logging
import pickle
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast, overload

import pyarrow as pa
from pyspark import SparkContext, cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from headrace.client.client import Client
from headrace.codecs.codec import Codec, codec_of
from headrace.engine.check import Limits, choice, text, whole
from headrace.errors import InvalidArgument, QueueNotFound
from headrace.operations.requests import raw
from headrace.spark.executors.assignment import Assignment
from headrace.spark.executors.running import Running
from headrace.spark.executors.tally import Tally
from headrace.spark.options import Server
from headrace.transport.drive import drive
from headrace.transport.transport import Command

log = logging.getLogger("headrace.spark")

FRAMES = ("arrow", "pandas", "rows")
UNTIL = ("empty", "stopped")
MOST_JOBS = 10_000
MOST_TASKS = 10_000
TELL_EVERY = 10.0

# A schema of Arrow, or of Spark as an object or a text.
Schema = Any


@overload
def work(
    spark: SparkSession,
    queue: str,
    function: Callable[[Any], Any],
    *,
    until: Literal["empty"] = "empty",
    batch: int = 1000,
    frame: str = "arrow",
    schema: Schema | None = None,
    next: str | None = None,
    tasks: int | None = None,
    url: str | None = None,
    namespace: str = "default",
    codec: str | Codec = "json",
) -> Tally: ...


@overload
def work(
    spark: SparkSession,
    queue: str,
    function: Callable[[Any], Any],
    *,
    until: Literal["stopped"],
    batch: int = 1000,
    frame: str = "arrow",
    schema: Schema | None = None,
    next: str | None = None,
    tasks: int | None = None,
    url: str | None = None,
    namespace: str = "default",
    codec: str | Codec = "json",
) -> Running: ...


def work(
    spark: SparkSession,
    queue: str,
    function: Callable[[Any], Any],
    *,
    until: str = "empty",
    batch: int = 1000,
    frame: str = "arrow",
    schema: Schema | None = None,
    next: str | None = None,  # noqa: A002 - the word users know
    tasks: int | None = None,
    url: str | None = None,
    namespace: str = "default",
    codec: str | Codec = "json",
) -> Tally | Running:
    """Works off the jobs of a queue on executors: the function is called with batches of them.

    It is given an Arrow table, a pandas frame or, with frame="rows", one Row at a time, and
    returns None, or a value, an exception or a Next for each job, as a list or as columns. With
    until="empty" this returns a Tally when nothing waits and nothing of this run is running; with
    "stopped" it returns a Running at once. What goes well is complete, or moves on to `next`.
    """
    context = _context(spark)
    choice("until", until, UNTIL)
    pickled = _pickled(function)
    name = text("queue", queue, Limits().name)
    server = Server.read({"namespace": namespace} | ({"url": url} if url else {}))
    _check_reach(context, url)
    arrow_schema = _arrow_schema(schema)
    run = f"{context.applicationId}-{secrets.token_hex(3)}"
    settled = server.settled()
    assignment = Assignment(
        run=run,
        url=settled.url,
        namespace=settled.namespace,
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
    running = Running(context, client, assignment, count)
    return running if until == "stopped" else _finished(running, name)


def _context(spark: Any) -> SparkContext:
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise InvalidArgument(
            "a Spark Connect session cannot run tasks of ours: call work in the driver itself, "
            "with a session of SparkSession.builder.master(...)"
        )
    if not isinstance(spark, SparkSession):
        raise InvalidArgument(f"spark must be a SparkSession, not {type(spark).__name__}")
    return spark.sparkContext


def _pickled(function: Any) -> bytes:
    if not callable(function):
        raise InvalidArgument(f"the function must be callable, not {type(function).__name__}")
    try:
        return bytes(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]
    except (pickle.PicklingError, TypeError, RuntimeError, AttributeError) as error:
        raise InvalidArgument(
            f"the function cannot be sent to executors: {error}. Connections, locks, files and the "
            "Spark session stay on the driver: open inside the function what it needs"
        ) from error


def _arrow_schema(schema: Schema | None) -> pa.Schema | None:
    if schema is None or isinstance(schema, pa.Schema):
        return schema
    try:
        found = StructType.fromDDL(schema) if isinstance(schema, str) else schema
        return to_arrow_schema(cast(StructType, found))
    except Exception as error:
        raise InvalidArgument(
            "schema must be an Arrow schema, a StructType of Spark, or a text such as "
            f"'user string, amount double': {error}"
        ) from error


def _check_reach(context: SparkContext, url: str | None) -> None:
    if not url and not str(context.master).startswith("local"):
        raise InvalidArgument(
            f"the executors of {context.master} cannot reach the embedded server of this machine: "
            "pass the url= of a server that they all reach"
        )


def _check_queue(client: Client, assignment: Assignment) -> None:
    """A queue that is not there is a wrong name, unless its jobs may come later."""
    core = client.core
    settings: list[Command] = [
        (shard, ("EXISTS", core.key(shard, f"settings:{assignment.queue}")))
        for shard in range(core.shards)
    ]
    if assignment.ends_when_empty and not any(drive(core.transport, raw(core, settings))):
        raise QueueNotFound(assignment.queue)
    if client.queue(assignment.queue).settings()["session"] == "none":
        raise InvalidArgument(
            f"queue {assignment.queue!r} heeds no sessions, so its jobs would not stay with tasks "
            "that work on them: set session='optional'"
        )


def _finished(running: Running, queue: str) -> Tally:
    """Waits for the end of a run. Ctrl-C ends it after the batches at hand; again, at once."""
    with _interruptible():
        try:
            return _told(running, queue)
        except KeyboardInterrupt:
            log.info("told to end: what is at hand on queue %s may end", queue)
            try:
                running.stop()
                running.wait()
            except KeyboardInterrupt:
                running.cancel()
            raise


def _told(running: Running, queue: str) -> Tally:
    told_of_pause = False
    patience = 0.0
    while True:
        try:
            tally = running.wait(patience)
        except TimeoutError:
            patience = TELL_EVERY
            counts = running.counts()
            log.info("queue %s: %d wait, %d run", queue, counts.waiting, counts.running)
            if counts.paused and not told_of_pause:
                told_of_pause = True
                log.warning(
                    "queue %s is paused: the run waits until it is resumed (headrace resume %s, or "
                    "queue.resume()), or ends with Ctrl-C",
                    queue,
                    queue,
                )
        else:
            log.info("queue %s: %s", queue, tally)
            return tally


@contextmanager
def _interruptible() -> Iterator[None]:
    """The handler of Spark for Ctrl-C would cancel every job, and with it what is at hand."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
