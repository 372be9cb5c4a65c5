"""Tables of the job history: each function computes a table from a DataFrame of events.

from headrace.spark.tables import attempts

attempts(events).where("outcome = 'failed'").show()
"""

from headrace.spark.tables.attempts import attempts
from headrace.spark.tables.daily import daily, merged_days
from headrace.spark.tables.jobs import jobs
from headrace.spark.tables.summaries import failures, throughput, workers

__all__ = ["attempts", "daily", "failures", "jobs", "merged_days", "throughput", "workers"]
