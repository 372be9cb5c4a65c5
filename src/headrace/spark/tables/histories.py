"""The events of each job in their order, and what an event means by those before it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.engine.events import OF_JOBS
from headrace.spark.tables import words

NO_TAGS = "[]"


@words.made_once
def by_job() -> WindowSpec:
    """The events of a job: the log of its shard tells them in their order.

    The id comes first, as Spark sorts by the beginning of what comes first.
    """
    return Window.partitionBy("job_id", "shard").orderBy("number")


@words.made_once
def so_far() -> WindowSpec:
    """The events of a job up to each of them."""
    return by_job().rowsBetween(Window.unboundedPreceding, Window.currentRow)


@words.made_once
def tells_tags() -> Column:
    """Whether an event says that a job has tags, and which."""
    return words.is_kind("put", "tagged") & (F.col("tags") != NO_TAGS)


def count_tagged(events: DataFrame) -> int:
    """How many events say that a job has tags. Where none does, tables need not ask for them."""
    telling = events.where(tells_tags())
    # This is known sooner.
    return 0 if telling.isEmpty() else telling.count()


def with_tags(events: DataFrame, *, tagged: int | None = None) -> DataFrame:
    """Events of jobs with the tags that the job has after each, as JSON in `has_tags`.

    tagged: what `count_tagged` says, if it is known.
    """
    known = F.lit(None).cast("string") if tagged == 0 else _known_tags()
    return events.where(words.is_kind(*OF_JOBS)).withColumn("has_tags", known)


@words.made_once
def _known_tags() -> Column:
    return F.last(tags_told(), ignorenulls=True).over(so_far())


def tags_told() -> Column:
    """The tags that an event tells, as JSON; null if it tells none."""
    return F.when(words.is_kind("put", "tagged"), F.coalesce("tags", F.lit(NO_TAGS)))


def tag_list(text: str) -> Column:
    """Tags as a list, empty if there are none or nothing is known of them."""
    return F.coalesce(F.from_json(text, "array<string>"), F.array().cast("array<string>"))
