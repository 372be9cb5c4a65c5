"""A Spark session with what Headrace needs: Java, the right Python, UTC, quiet."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from headrace.errors import MissingExtra
from headrace.spark.java import use_java

try:
    from pyspark.sql import SparkSession
except ImportError:
    raise MissingExtra("headrace.spark", "pyspark", "spark") from None

LOCAL = "local[*]"

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Sketches by queue, worker and bin are gathered without sorting the events first.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "10000",
    # A rollup has more parts than are kept by default, and what is not kept is compiled anew.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # The files of a lake are named one by one: a job that looks at each costs more than to look.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "256",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def session(master: str = LOCAL, **settings: str) -> SparkSession:
    """The session that is active, else a new one on this machine or on the given master.

    Settings are Spark's own, with _ for the dots: session(spark_driver_memory="4g").
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    use_java(Path(tempfile.gettempdir()) / f"headrace-{os.getuid()}")
    builder = SparkSession.Builder().master(master).appName("headrace")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made
