"""Tables over the history of jobs: each a function from a DataFrame of events to a DataFrame."""

from headrace.spark.tables.attempts import attempts
from headrace.spark.tables.daily import daily, merged_days
from headrace.spark.tables.failures import failures
from headrace.spark.tables.jobs import jobs
from headrace.spark.tables.throughput import throughput
from headrace.spark.tables.workers import workers

__all__ = ["attempts", "daily", "failures", "jobs", "merged_days", "throughput", "workers"]
