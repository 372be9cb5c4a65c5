"""The table jobs has one row for each job, merged from the rows of the job in job_days."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.engine.events import OF_JOBS
from headrace.spark.tables import expressions
from headrace.spark.tables.expressions import by_job, tag_list, tags_in_event, until_now

OF_ANOTHER = -1
"""The size to store for a payload that is not in the log and differs from the known payload."""

AT_REST = ("complete", "cancelled", "expired", "failed")
"""The states of a finished job. A job that is put or retried again is not finished."""


def jobs(events: DataFrame) -> DataFrame:
    """Return one row for each job: when it was put and finished, its state, and its queues.

    If an id is used again after its job was deleted, the new job has a row of its own.

        jobs(events).where("state = 'complete'").show()
    """
    return merge_job_days(job_days(events))


def merge_job_days(days: DataFrame) -> DataFrame:
    """Merge rows of `job_days` into one row for each job."""
    generation = F.count_if("begins").over(by_job().orderBy("first"))
    merged = (
        days.withColumn("generation", generation)
        .groupBy("shard", "job_id", "generation")
        .agg(*_merged())
        .drop("generation")
    )
    return merged.select(*_columns())


def _merged() -> list[Column]:
    latest = ("state", "priority", "tags", "failure", "source", "data", "left_out")
    return [
        F.min("put_at").alias("put_at"),
        F.max("seen_at").alias("seen_at"),
        F.min_by("first_queue", "first").alias("first_queue"),
        F.array_sort(F.flatten(F.collect_list("arrivals"))).alias("arrivals"),
        F.max("attempts").alias("attempts"),
        F.coalesce(F.sum("waited"), F.lit(0)).alias("waited"),
        F.coalesce(F.sum("ran"), F.lit(0)).alias("ran"),
        *(F.max_by(name, f"{name}.number").alias(name) for name in latest),
    ]


def _columns() -> list[Column]:
    path = F.transform("arrivals", lambda arrival: arrival["queue"])
    queues = F.when(F.size("arrivals") > 0, path).otherwise(F.array("first_queue"))
    has_ended = F.col("state.state").isin(*AT_REST)
    # If a repeated put does not change the payload, the log may have only the size of the payload.
    is_stale = (F.col("left_out.number") > F.col("data.number")) & (
        F.col("left_out.left_out") != F.octet_length("data.data")
    )
    return [
        *expressions.columns("job_id", "shard"),
        F.element_at(queues, -1).alias("queue"),
        queues.alias("queues"),
        F.col("state.state").alias("state"),
        F.col("put_at"),
        F.when(has_ended, F.col("state.at")).alias("ended_at"),
        *expressions.columns("seen_at", "attempts"),
        (F.col("waited") / 1000).alias("waited"),
        (F.col("ran") / 1000).alias("ran"),
        F.col("priority.priority").alias("priority"),
        tag_list("tags.has_tags").alias("tags"),
        F.col("failure.failure").alias("failure"),
        F.col("failure.message").alias("message"),
        F.col("source.schedule").alias("schedule"),
        F.col("source.origin").alias("origin"),
        F.when(~F.coalesce(is_stale, F.lit(False)), F.col("data.data")).alias("data"),
        expressions.day_of("put_at").alias("day"),
    ]


# The table job_days: one row for each job and day


def job_days(events: DataFrame) -> DataFrame:
    """Return one row for each job and day.

    If the id of a deleted job is used again on the same day, the new job has a row of its own.
    Values such as the state are stored with the number of the event that set the value, so that a
    merge of days can find the newest value.
    """
    return (
        events.where(expressions.is_kind(*OF_JOBS))
        .withColumns(_before())
        .groupBy("job_id", "shard", "generation", "day")
        .agg(*_day_columns())
        .drop("generation")
    )


def _before() -> dict[str, Column]:
    """Return columns: how many jobs had the id up to each event, and the time of the last pop."""
    popped_at = F.when(expressions.is_kind("popped"), expressions.milliseconds_of())
    return {
        "generation": F.count_if(expressions.creates_job()).over(until_now()),
        "popped_at": F.last(popped_at, ignorenulls=True).over(until_now()),
    }


def _day_columns() -> list[Column]:
    is_end = expressions.ends_attempt()
    held = expressions.milliseconds_of() - F.col("popped_at")
    fails = expressions.is_kind("failed", "retried")
    return [
        F.bool_or(expressions.creates_job()).alias("begins"),
        F.min("number").alias("first"),
        F.max("number").alias("last"),
        F.min_by("queue", "number").alias("first_queue"),
        F.min(F.when(expressions.creates_job(), F.col("at"))).alias("put_at"),
        F.max("at").alias("seen_at"),
        _last(_state().isNotNull(), _state().alias("state"), F.col("at")).alias("state"),
        _arrivals().alias("arrivals"),
        F.max("attempt").alias("attempts"),
        F.sum(
            F.when(expressions.is_kind("popped"), expressions.at_least_zero(F.col("wait")))
        ).alias("waited"),
        F.sum(F.when(is_end, expressions.at_least_zero(F.coalesce("run", held)))).alias("ran"),
        _last(F.lit(True), F.col("priority")).alias("priority"),
        _last(tags_in_event().isNotNull(), tags_in_event().alias("has_tags")).alias("tags"),
        _last(fails, F.col("failure"), F.col("message")).alias("failure"),
        _last(expressions.creates_job(), F.col("schedule"), F.col("origin")).alias("source"),
        _last(F.col("data").isNotNull(), F.col("data")).alias("data"),
        _last(F.col("left_out").isNotNull(), _size_left_out()).alias("left_out"),
    ]


def _last(is_relevant: Column, *values: Column) -> Column:
    """Return the number of the last relevant event, and these values of that event."""
    return F.max_by(F.struct("number", *values), F.when(is_relevant, F.col("number")))


def _size_left_out() -> Column:
    """Return the size of a payload that is not in the log.

    If the event is not a put, its payload differs from the known payload. The result is then
    OF_ANOTHER instead of the size.
    """
    size = F.when(expressions.is_kind("put"), F.col("left_out"))
    return F.coalesce(size, F.lit(OF_ANOTHER).cast("bigint")).alias("left_out")


def _state() -> Column:
    """Return the new state of the job; null if an event does not change the state."""
    queued = F.when(F.col("delay") > 0, "scheduled").otherwise("waiting")
    keeps_position = expressions.was(expressions.REPLACED) & ~(F.col("delay") > 0)
    moves_on = expressions.is_kind("completed") & F.col("next_queue").isNotNull()
    return (
        F.when(expressions.is_kind("put") & keeps_position, F.lit(None).cast("string"))
        .when(expressions.is_kind("put", "unlocked", "unfailed", "retried") | moves_on, queued)
        .when(expressions.is_kind("due", "released", "lost"), "waiting")
        .when(expressions.is_kind("popped"), "running")
        .when(expressions.is_kind("completed"), "complete")
        .when(expressions.is_kind("blocked", "failed", "cancelled", "expired"), F.col("kind"))
    )


def _arrivals() -> Column:
    """Return the queues that the job entered, each with the event number of the arrival."""
    comes = F.when(
        expressions.is_kind("put") & ~expressions.was(expressions.REPLACED), F.col("queue")
    ).when(expressions.is_kind("completed"), F.col("next_queue"))
    return F.array_sort(
        F.collect_list(F.when(comes.isNotNull(), F.struct("number", comes.alias("queue"))))
    )
