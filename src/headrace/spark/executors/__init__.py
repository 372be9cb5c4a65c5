"""Spark executors as workers: tasks that lease jobs in batches and process them.

Internal: the API may change without notice.
"""

from headrace.spark.executors.job_table import JobRow as JobRow
from headrace.spark.executors.outcomes import BadReturn as BadReturn
from headrace.spark.executors.outcomes import Next as Next
from headrace.spark.executors.task import WorkCounts as WorkCounts
from headrace.spark.executors.work import work as work
from headrace.spark.executors.work_run import RunFailed as RunFailed
from headrace.spark.executors.work_run import WorkRun as WorkRun
