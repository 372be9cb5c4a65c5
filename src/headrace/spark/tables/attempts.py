"""The table attempts: one row for each delivery of a job to a worker."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.spark.tables import expressions
from headrace.spark.tables.expressions import by_job, tag_list, with_tags

RUNNING = "running"
UNKNOWN = "unknown"
"""The outcome of an attempt if the event that ended the attempt is missing."""

TAKEN = "taken"
"""The outcome of an attempt if its job was put again during the attempt."""


def attempts(events: DataFrame, *, tagged: int | None = None) -> DataFrame:
    """Return one row for each delivery.

    The column `day` is the day on which the delivery ended. If the delivery is still running, `day`
    is the day of the pop. If the event that ended the delivery is missing, `day` is the day of the
    job's next pop. If the pop is missing from the events, `waited` is null. `tagged` is the result
    of `count_tagged`, or None if unknown.

        attempts(events).where("outcome = 'failed'").show()
    """
    deliveries = with_tags(events, tagged=tagged).where(_is_of_delivery())
    return deliveries.withColumns(_neighbours()).where(_has_attempt()).select(*_columns())


def _is_of_delivery() -> Column:
    return expressions.is_kind("popped") | expressions.ends_attempt()


def _neighbours() -> dict[str, Column]:
    """Return a column with the pop directly before each event, and a column with the next event."""
    pop = F.when(expressions.is_kind("popped"), F.struct("at", "wait", "worker", "queue"))
    return {
        "pop": F.lag(pop).over(by_job()),
        "then": F.lead(F.struct("kind", "day")).over(by_job()),
    }


def _has_attempt() -> Column:
    """Return whether an event ends an attempt, or starts an attempt that has no end event."""
    is_last = F.col("then").isNull()
    without_end = expressions.is_kind("popped") & (is_last | (F.col("then.kind") == "popped"))
    return expressions.ends_attempt() | without_end


def _columns() -> list[Column]:
    is_end = expressions.ends_attempt()
    is_taken = is_end & expressions.is_kind("put")
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
    held = expressions.milliseconds_of() - expressions.milliseconds_of("pop.at")
    ran = F.when(is_end, expressions.at_least_zero(F.coalesce("run", held)))
    waited = expressions.at_least_zero(F.when(is_end, F.col("pop.wait")).otherwise(F.col("wait")))
    return [
        F.col("job_id"),
        F.when(is_taken, F.coalesce("pop.queue", "from_queue"))
        .otherwise(F.col("queue"))
        .alias("queue"),
        *expressions.columns("shard", "attempt"),
        F.coalesce(F.nullif(F.col("worker"), F.lit("")), "pop.worker").alias("worker"),
        began.alias("began"),
        F.when(is_end, F.col("at")).alias("ended"),
        (waited / 1000).alias("waited"),
        (ran / 1000).alias("ran"),
        outcome.alias("outcome"),
        *expressions.columns("reason", "failure", "message"),
        F.when(is_taken, F.col("queue")).otherwise(F.col("next_queue")).alias("next_queue"),
        tag_list("has_tags").alias("tags"),
        *expressions.columns("priority", "number"),
        F.when(outcome == UNKNOWN, F.col("then.day")).otherwise(F.col("day")).alias("day"),
    ]
