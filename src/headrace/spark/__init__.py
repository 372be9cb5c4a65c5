"""Headrace and Spark: events and jobs as DataFrames, DataFrames as jobs, executors as workers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headrace.spark.session import session

if TYPE_CHECKING:
    from headrace.spark.executors.frames import Row
    from headrace.spark.executors.running import RunFailed, Running
    from headrace.spark.executors.tally import Tally
    from headrace.spark.executors.verdicts import BadReturn, Next
    from headrace.spark.executors.work import work

# Loaded when first asked for: whoever reads or writes needs nothing of the workers.
_LATER = {
    "BadReturn": "headrace.spark.executors.verdicts",
    "Next": "headrace.spark.executors.verdicts",
    "Row": "headrace.spark.executors.frames",
    "RunFailed": "headrace.spark.executors.running",
    "Running": "headrace.spark.executors.running",
    "Tally": "headrace.spark.executors.tally",
    "work": "headrace.spark.executors.work",
}

__all__ = ["BadReturn", "Next", "Row", "RunFailed", "Running", "Tally", "session", "work"]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
