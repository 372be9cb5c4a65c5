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
    from headrace.spark.executors.job_table import JobRow
    from headrace.spark.executors.outcomes import BadReturn, Next
    from headrace.spark.executors.task import WorkCounts
    from headrace.spark.executors.work import work
    from headrace.spark.executors.work_run import RunFailed, WorkRun

# These names are imported on first use, because reading and writing tables does not need them.
_LATER = {
    "BadReturn": "headrace.spark.executors.outcomes",
    "JobRow": "headrace.spark.executors.job_table",
    "Next": "headrace.spark.executors.outcomes",
    "RunFailed": "headrace.spark.executors.work_run",
    "WorkCounts": "headrace.spark.executors.task",
    "WorkRun": "headrace.spark.executors.work_run",
    "work": "headrace.spark.executors.work",
}

__all__ = ["BadReturn", "JobRow", "Next", "RunFailed", "WorkCounts", "WorkRun", "session", "work"]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
