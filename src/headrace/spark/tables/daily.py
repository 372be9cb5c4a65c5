"""The table daily: counts and durations of each queue and day, in total, by tag and by worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.spark.tables import expressions
from headrace.spark.tables.duration_stats import (
    SERIES,
    bin_number,
    collect_parts,
    finish_series,
    merge_parts,
    series_part,
    summarize,
)
from headrace.spark.tables.expressions import has_tags, tag_list, with_tags

ALL, TAG, WORKER = "all", "tag", "worker"

# Maps each meaning that an event can have for a queue to the table columns that count such events.
_MEANINGS = {
    "put": ("put",),
    "popped": (),
    "completed": ("completed",),
    "came complete": ("completed",),
    "moved on": ("completed", "moved"),
    "came": ("put",),
    "was taken": ("taken",),
    "failed": ("failed", "failures"),
    "failed by a loss": ("failed", "failures", "retries"),
    "set aside": ("failures",),
    "retried": ("retries",),
    "lost": ("lost",),
    "lost at a cost": ("lost", "retries"),
    "cancelled": ("cancelled",),
    "expired": ("expired",),
}
# The names of the columns that count events.
COUNTS = tuple(dict.fromkeys(count for counts in _MEANINGS.values() for count in counts))
_KEYS = ("queue", "by", "name", "day")

_FEW = 100_000


def daily(events: DataFrame, *, tagged: int | None = None) -> DataFrame:
    """Return counts and durations by queue and day: in total, by tag and by worker.

    The column `by` is "all", "tag" or "worker". The column `name` is the tag or the worker.
    `tagged` is the result of `count_tagged`, or None if unknown. Passing `tagged` makes the table
    cheaper to compute if few events or none have tags.

        daily(events).where("`by` = 'all'").select("queue", "day", "completed").show()
    """
    figures = events.select(*_event_figures(WORKER, "worker"))
    if tagged != 0:
        are_few = tagged is not None and tagged <= _FEW
        figures = figures.unionByName(_by_tag(events, are_few=are_few))
    # First merge the events that have the same attributes and durations in the same histogram bin,
    # so that few rows remain.
    same = ("day", "queue", "came_into", "taken_from", "meaning", "by", "name")
    similar = figures.groupBy(*same, bin_number("value").alias("bin")).agg(
        F.count("*").alias("times"), *summarize("value")
    )
    rows = similar.select(*_groups()).select(*_figures())
    return expressions.day_last(merged_days(rows, _KEYS))


def merged_days(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Merge rows of the table `daily` into one row for each combination of these keys.

    The counts are summed, and the means, variances and quantiles cover all merged rows.

        merged_days(daily(events).where("`by` = 'all'"), ["queue"]).show()
    """
    sums = [F.sum(name).alias(name) for name in COUNTS]
    collected = rows.groupBy(*keys).agg(*sums, *_of_series(collect_parts))
    merged = collected.select(*keys, *COUNTS, *_of_series(merge_parts))
    return merged.select(*keys, *COUNTS, *_of_series(finish_series))


def _of_series(columns: Callable[[str], list[Column]]) -> list[Column]:
    return [column for name in SERIES for column in columns(name)]


def _by_tag(events: DataFrame, *, are_few: bool) -> DataFrame:
    """Return one row for each event and each tag that the job had at that time.

    Spark sorts only the events of jobs with tags.
    """
    tagged = events.where(has_tags()).select("shard", "job_id").distinct()
    # If there are few ids, Spark can send all ids to every task.
    tagged = F.broadcast(tagged) if are_few else tagged
    with_theirs = with_tags(events.join(tagged, ["shard", "job_id"], "left_semi"))
    each = with_theirs.withColumn("tag", F.explode(tag_list("has_tags")))
    return each.select(*_event_figures(TAG, "tag"))


def _event_figures(by: str, name: str) -> list[Column]:
    """Return the columns of an event that the table needs. `name` is the worker or the tag."""
    waited = F.when(expressions.is_kind("popped"), F.col("wait"))
    ran = F.when(expressions.is_kind("completed"), F.col("run"))
    is_taken = expressions.is_put_again() & ~expressions.was("complete")
    return [
        *expressions.columns("day", "queue"),
        F.when(expressions.is_kind("completed"), F.col("next_queue")).alias("came_into"),
        F.when(is_taken, F.col("from_queue")).alias("taken_from"),
        _meaning().alias("meaning"),
        F.lit(by).alias("by"),
        F.col(name).alias("name"),
        expressions.at_least_zero(F.coalesce(waited, ran)).alias("value"),
    ]


def _meaning() -> Column:
    """Return what an event means for its queue (a key of _MEANINGS); null if it is ignored."""
    is_loss = expressions.costs_retry()
    return (
        F.when(expressions.is_kind("put"), F.when(~expressions.was(expressions.REPLACED), "put"))
        .when(expressions.is_kind("completed") & expressions.is_imported(), "came complete")
        .when(expressions.is_kind("failed") & expressions.is_imported(), F.lit(None).cast("string"))
        .when(expressions.is_kind("completed") & F.col("next_queue").isNotNull(), "moved on")
        .when(expressions.is_kind("failed") & F.col("run").isNull(), "set aside")
        .when(expressions.is_kind("failed") & is_loss, "failed by a loss")
        .when(expressions.is_kind("lost") & is_loss, "lost at a cost")
        .when(expressions.is_kind(*_MEANINGS), F.col("kind"))
    )


def _groups() -> list[Column]:
    """Return columns that repeat a row once for each group in which the row counts.

    A row with a tag counts in the group of its queue and tag. Any other row counts in the total of
    its queue, and in the group of its queue and worker. If the job entered or left another queue,
    the row also counts for that queue.
    """

    def group_of(queue: Column, meaning: Column, by: Column, name: Column) -> Column:
        struct = {"queue": queue, "meaning": meaning, "by": by, "name": name}
        found = F.struct(*(column.alias(called) for called, column in struct.items()))
        return F.when(queue.isNotNull() & meaning.isNotNull(), found)

    is_of_tag = F.col("by") == TAG
    total = F.when(is_of_tag, TAG).otherwise(ALL), F.when(is_of_tag, F.col("name"))
    # A row counts for a worker only in the queue that the worker served, not in another queue that
    # the job entered or left.
    is_of_worker = ~is_of_tag & (F.col("name") != "")
    of_worker = group_of(F.col("queue"), F.col("meaning"), F.lit(WORKER), F.col("name"))
    groups = F.array(
        group_of(F.col("queue"), F.col("meaning"), *total),
        F.when(is_of_worker, of_worker),
        group_of(F.col("came_into"), F.lit("came"), *total),
        group_of(F.col("taken_from"), F.lit("was taken"), *total),
    )
    kept = expressions.columns("day", "bin", "times", "count", "mean", "variance", "sketch")
    return [*kept, F.inline(F.array_compact(groups))]


def _figures() -> list[Column]:
    """Return the columns of a row: keys, counts, and statistics of waiting and running times."""
    return [
        *expressions.columns(*_KEYS),
        *(_count(name).alias(name) for name in COUNTS),
        *series_part("wait", F.col("meaning") == "popped"),
        *series_part("run", F.col("meaning").isin("completed", "moved on")),
    ]


def _count(name: str) -> Column:
    counting = [meaning for meaning, counts in _MEANINGS.items() if name in counts]
    return F.when(F.col("meaning").isin(*counting), F.col("times")).otherwise(0)
