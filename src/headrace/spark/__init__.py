"""Headrace and Spark: events and jobs as DataFrames, DataFrames as jobs, executors as workers."""

from headrace.spark.session import session

__all__ = ["session"]
