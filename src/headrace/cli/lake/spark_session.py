"""A Spark session for one command, with its output in a log file."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pandas as pd  # noqa: F401 - fail before Spark starts if the extra is incomplete
import pyarrow as pa  # noqa: F401
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.cli.connecting import ServerOptions
from headrace.cli.lake.common import needs_spark
from headrace.errors import HeadraceError
from headrace.lake.files import Files, LocalFiles
from headrace.spark import session
from headrace.spark.error_summary import error_summary
from headrace.spark.hadoop_files import HadoopFiles
from headrace.spark.options import ServerAddress


class SparkFailed(HeadraceError):
    """Spark reported an error."""


@contextmanager
def spark_session(*, announced: bool = True) -> Iterator[SparkSession]:
    """Start Spark for one command, or use the active session.

    Raises SparkFailed for an error of Spark.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    log = Path(tempfile.gettempdir()) / f"headrace-spark-{os.getpid()}.log"
    if announced:
        click.echo("starting Spark…", err=True)
    try:
        with _output_to(log):
            spark = session()
        try:
            yield spark
        finally:
            spark.stop()
    except (PySparkException, Py4JError) as error:
        raise SparkFailed(f"Spark failed: {error_summary(error)} (log: {log})") from error
    log.unlink(missing_ok=True)


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Send the output of processes that start meanwhile to a file, as long as they live."""
    kept = [(number, os.dup(number)) for number in (1, 2)]
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        for number, _ in kept:
            os.dup2(target, number)
        yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)
        os.close(target)


def files_at(place: str, spark: SparkSession) -> Files:
    """Return the files of a lake."""
    return HadoopFiles(spark, place) if needs_spark(place) else LocalFiles(place)


def spark_server(server: ServerOptions) -> ServerAddress:
    """Return the options of the Spark source for the server of a command."""
    return ServerAddress(url=server.url or "", namespace=server.namespace)
