"""The events of each job in their order, and what an event means by those before it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.engine.events import OF_JOBS
from headrace.spark.tables import words

NO_TAGS = "[]"


def by_job() -> WindowSpec:
    """The events of a job: the log of its shard tells them in their order."""
    return Window.partitionBy("shard", "job_id").orderBy("number")


def with_tags(events: DataFrame) -> DataFrame:
    """Events of jobs with the tags that the job has after each, as JSON in `has_tags`."""
    told = F.when(words.is_kind("put", "tagged"), F.coalesce("tags", F.lit(NO_TAGS)))
    known = F.last(told, ignorenulls=True).over(by_job())
    return events.where(words.is_kind(*OF_JOBS)).withColumn("has_tags", known)


def tag_list(text: str) -> Column:
    """Tags as a list, empty if there are none or nothing is known of them."""
    return F.coalesce(F.from_json(text, "array<string>"), F.array().cast("array<string>"))
