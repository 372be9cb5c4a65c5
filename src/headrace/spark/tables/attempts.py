"""attempts: one row for each delivery of a job to a worker."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.spark.tables import words
from headrace.spark.tables.histories import by_job, tag_list, with_tags

RUNNING = "running"
UNKNOWN = "unknown"
"""The outcome of an attempt whose end is not among the events."""

TAKEN = "taken"
"""The outcome of an attempt whose job was put again while it ran."""


def attempts(events: DataFrame, *, tagged: int | None = None) -> DataFrame:
    """One row per delivery, on the day on which it ended; on that of its pop while it runs, and on
    that of the next pop if its end is not known.

    An end without its pop, which happened before the first event, has a row without `waited`.
    tagged: what `count_tagged` says, if it is known.
    """
    deliveries = with_tags(events, tagged=tagged).where(_is_of_delivery())
    return deliveries.withColumns(_beside()).where(_is_told()).select(*_columns())


@words.made_once
def _is_of_delivery() -> Column:
    return words.is_kind("popped") | words.ends_attempt()


@words.made_once
def _beside() -> dict[str, Column]:
    """The pop before an event, and what comes after it."""
    pop = F.when(words.is_kind("popped"), F.struct("at", "wait", "worker", "queue"))
    return {
        "pop": F.lag(pop).over(by_job()),
        "then": F.lead(F.struct("kind", "day")).over(by_job()),
    }


@words.made_once
def _is_told() -> Column:
    """Whether an event tells of an attempt: it ends one, or is a pop without an end."""
    is_last = F.col("then").isNull()
    without_end = words.is_kind("popped") & (is_last | (F.col("then.kind") == "popped"))
    return words.ends_attempt() | without_end


@words.made_once
def _columns() -> list[Column]:
    is_end = words.ends_attempt()
    is_taken = is_end & words.is_kind("put")
    began = F.coalesce(
        F.col("pop.at"),
        F.when(~is_end, F.col("at")),
        F.expr("timestampadd(microsecond, -1000 * run, at)"),
    )
    outcome = (
        F.when(is_taken, TAKEN)
        .when(is_end, F.col("kind"))
        .when(F.col("then").isNull(), RUNNING)
        .otherwise(UNKNOWN)
    )
    held = words.milliseconds_of() - words.milliseconds_of("pop.at")
    ran = F.when(is_end, words.at_least_zero(F.coalesce("run", held)))
    waited = words.at_least_zero(F.when(is_end, F.col("pop.wait")).otherwise(F.col("wait")))
    return [
        F.col("job_id"),
        F.when(is_taken, F.coalesce("pop.queue", "from_queue"))
        .otherwise(F.col("queue"))
        .alias("queue"),
        F.col("shard"),
        F.col("attempt"),
        F.coalesce(F.nullif(F.col("worker"), F.lit("")), "pop.worker").alias("worker"),
        began.alias("began"),
        F.when(is_end, F.col("at")).alias("ended"),
        (waited / 1000).alias("waited"),
        (ran / 1000).alias("ran"),
        outcome.alias("outcome"),
        F.col("reason"),
        F.col("failure"),
        F.col("message"),
        F.when(is_taken, F.col("queue")).otherwise(F.col("next_queue")).alias("next_queue"),
        tag_list("has_tags").alias("tags"),
        F.col("priority"),
        F.col("number"),
        F.when(outcome == UNKNOWN, F.col("then.day")).otherwise(F.col("day")).alias("day"),
    ]
