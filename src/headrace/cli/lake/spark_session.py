"""A Spark session for one command. The output of Spark goes to a log file."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd  # noqa: F401 - fail before Spark starts if the extra is incomplete
import pyarrow as pa  # noqa: F401
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.cli.connecting import ServerOptions
from headrace.cli.lake.common import needs_spark
from headrace.cli.output import say
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

    Raises SparkFailed if Spark reports an error.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    # Other users can write to the directory for temporary files. mkstemp creates a new file with a
    # random name, so the log cannot follow a link of another user.
    target, log = tempfile.mkstemp(prefix="headrace-spark-", suffix=".log")
    if announced:
        say("starting Spark…", err=True)
    try:
        with _output_to(target):
            spark = session()
        try:
            yield spark
        finally:
            spark.stop()
    except (PySparkException, Py4JError) as error:
        raise SparkFailed(f"Spark failed: {error_summary(error)} (log: {log})") from error
    Path(log).unlink(missing_ok=True)


@contextmanager
def _output_to(target: int) -> Iterator[None]:
    """Send the output of this process to an open file until the end of the block.

    Processes that are started in the block write to the file even after the end of the block.
    """
    kept = [(number, os.dup(number)) for number in (1, 2)]
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
    """Return the server and namespace of a command as an address for the Spark data source."""
    return ServerAddress(url=server.url or "", namespace=server.namespace)
