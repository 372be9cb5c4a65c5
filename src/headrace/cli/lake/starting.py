"""A Spark session for one command: announced, quiet, and ended with it."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer

from headrace.cli.lake.place import files_at, needs_spark
from headrace.errors import HeadraceError, MissingExtra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.lake.files import Files


class SparkFailed(HeadraceError):
    """Spark could not do what it was asked for."""


@contextmanager
def spark_session(*, announced: bool = True) -> Iterator[SparkSession]:
    """A session that says nothing on the terminal but, if announced, that it starts."""
    for package in ("pyspark", "pyarrow", "pandas"):
        if find_spec(package) is None:
            raise MissingExtra("the lake", package, "spark")
    from py4j.protocol import Py4JError  # noqa: PLC0415 - of an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    from headrace.spark import session  # noqa: PLC0415
    from headrace.spark.error_summary import error_summary  # noqa: PLC0415

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    log = Path(tempfile.gettempdir()) / f"headrace-spark-{os.getpid()}.log"
    if announced:
        typer.echo("starting Spark…", err=True)
    try:
        with _noise_goes_to(log):
            spark = session()
        try:
            yield spark
        finally:
            spark.stop()
    except (PySparkException, Py4JError) as error:
        raise SparkFailed(f"Spark failed: {error_summary(error)} (its log: {log})") from error
    log.unlink(missing_ok=True)


@contextmanager
def files_in(place: str) -> Iterator[Files]:
    """The files of a lake; Spark is started only where it alone can read them."""
    if needs_spark(place):
        with spark_session() as spark:
            yield files_at(place, spark)
    else:
        yield files_at(place)


@contextmanager
def _noise_goes_to(log: Path) -> Iterator[None]:
    """What is started meanwhile writes to a file, for as long as it lives."""
    kept = [(number, os.dup(number)) for number in (1, 2)]
    noise = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        for number, _ in kept:
            os.dup2(noise, number)
        yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)
        os.close(noise)


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set; who presses again does not want to wait."""
    stopping = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        if stopping.is_set():
            raise KeyboardInterrupt
        stopping.set()
        typer.echo("ending after the batch at hand; Ctrl-C again ends now", err=True)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
