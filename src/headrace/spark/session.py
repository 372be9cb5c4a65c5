"""Create a Spark session for Headrace: with Java, this Python, UTC, and little output."""

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
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Aggregate sketches by queue, worker and bin without sorting the events first.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "10000",
    # A rollup has more generated classes than the default cache holds; the rest is recompiled.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # The files of a lake are listed by name, and a Spark job to list them costs more than it saves.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "256",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def session(master: str = LOCAL, **settings: str) -> SparkSession:
    """Return the active Spark session, or create one.

    master is a Spark master URL, by default all cores of this machine. Settings are those of Spark
    with _ instead of dots. Raises JavaNotFound if there is no Java 17 or later.

        spark = headrace.spark.session(spark_driver_memory="4g")
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
