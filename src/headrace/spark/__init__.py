"""Headrace and Spark: events and jobs as DataFrames, DataFrames as jobs, executors as workers."""

from headrace.spark.executors.frames import Row
from headrace.spark.executors.running import RunFailed, Running
from headrace.spark.executors.tally import Tally
from headrace.spark.executors.verdicts import BadReturn, Next
from headrace.spark.executors.work import work
from headrace.spark.session import session

__all__ = ["BadReturn", "Next", "Row", "RunFailed", "Running", "Tally", "session", "work"]
