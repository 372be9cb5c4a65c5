"""Use Headrace with Spark: read events and jobs, put rows as jobs, process jobs on executors.

import headrace.spark

spark = headrace.spark.session()
events = spark.read.format("headrace").load()
df.write.format("headrace").option("queue", "letters").mode("append").save()
counts = headrace.spark.work(spark, "letters", lambda jobs: jobs["data.to"])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.spark.session import session

if TYPE_CHECKING:
    from headrace.spark.executors import *  # noqa: F403 - the table of names

__all__ = ["BadReturn", "JobRow", "Next", "RunFailed", "WorkCounts", "WorkRun", "session", "work"]  # noqa: F405


def __getattr__(name: str) -> Any:
    # Import the executors on first use, because reading and writing tables does not need them.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("headrace.spark.executors"), name)
