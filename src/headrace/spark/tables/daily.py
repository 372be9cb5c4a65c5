"""daily: what a queue did on a day, in all, by tag and by worker."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.spark.tables import words
from headrace.spark.tables.histories import tag_list, tells_tags, with_tags
from headrace.spark.tables.series import (
    SERIES,
    bin_number,
    collected,
    finished,
    gathered,
    told,
    united,
)

ALL, TAG, WORKER = "all", "tag", "worker"
COUNTS = (
    "put",
    "completed",
    "moved",
    "taken",
    "failed",
    "failures",
    "retries",
    "lost",
    "cancelled",
    "expired",
)

# What an event means to a queue, and how it is counted there.
_DEEDS = {
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
_KEYS = ("queue", "by", "name", "day")

_FEW = 100_000


def daily(events: DataFrame, *, tagged: int | None = None) -> DataFrame:
    """By queue and day, once for all (`by` is all) and once for each tag and worker (`name`).

    tagged: what `count_tagged` says, if it is known. Few tags cost little, and none cost nothing.
    """
    told_events = events.select(*_told(WORKER, "worker"))
    if tagged != 0:
        are_few = tagged is not None and tagged <= _FEW
        told_events = told_events.unionByName(_by_tag(events, are_few=are_few))
    rows = _alike(told_events).select(*_places()).select(*_figures())
    return _merged(rows, _KEYS).select(*words.columns(*_KEYS[:-1], *COUNTS), *_finished(), "day")


def merged_days(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows of the table as one for each value of these keys, as if all days were one."""
    return _merged(rows, keys).select(*words.columns(*keys, *COUNTS), *_finished())


def _merged(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    gathered_rows = rows.groupBy(*words.columns(*keys)).agg(*_gathered())
    return gathered_rows.select(*words.columns(*keys, *COUNTS), *_united())


@words.made_once
def _gathered() -> list[Column]:
    sums = [F.sum(name).alias(name) for name in COUNTS]
    return [*sums, *(column for name in SERIES for column in gathered(name))]


@words.made_once
def _united() -> list[Column]:
    return [column for name in SERIES for column in united(name)]


@words.made_once
def _finished() -> list[Column]:
    return [column for name in SERIES for column in finished(name)]


def _by_tag(events: DataFrame, *, are_few: bool) -> DataFrame:
    """What jobs with tags did; only they are put in order, for theirs."""
    tagged = events.where(tells_tags()).select("shard", "job_id").distinct()
    # Their ids can be sent to every task.
    tagged = F.broadcast(tagged) if are_few else tagged
    with_theirs = with_tags(events.join(tagged, ["shard", "job_id"], "left_semi"))
    each = with_theirs.withColumn("tag", F.explode(tag_list("has_tags")))
    return each.select(*_told(TAG, "tag"))


@words.made_once
def _told(by: str, name: str) -> list[Column]:
    """What an event tells, to be counted for a worker or a tag."""
    waited = F.when(words.is_kind("popped"), F.col("wait"))
    ran = F.when(words.is_kind("completed"), F.col("run"))
    is_taken = words.comes_again() & ~words.was("complete")
    return [
        *words.columns("day", "queue"),
        F.when(words.is_kind("completed"), F.col("next_queue")).alias("came_into"),
        F.when(is_taken, F.col("from_queue")).alias("taken_from"),
        _deed().alias("deed"),
        F.lit(by).alias("by"),
        F.col(name).alias("name"),
        words.at_least_zero(F.coalesce(waited, ran)).alias("value"),
    ]


def _deed() -> Column:
    """What an event means to its queue; null if it is not counted."""
    is_loss = words.costs_retry()
    return (
        F.when(words.is_kind("put"), F.when(~words.was(words.REPLACED), "put"))
        .when(words.is_kind("completed") & words.is_imported(), "came complete")
        .when(words.is_kind("failed") & words.is_imported(), F.lit(None).cast("string"))
        .when(words.is_kind("completed") & F.col("next_queue").isNotNull(), "moved on")
        .when(words.is_kind("failed") & F.col("run").isNull(), "set aside")
        .when(words.is_kind("failed") & is_loss, "failed by a loss")
        .when(words.is_kind("lost") & is_loss, "lost at a cost")
        .when(words.is_kind(*_DEEDS), F.col("kind"))
    )


def _alike(told_events: DataFrame) -> DataFrame:
    """Events that differ only in their value, and this within a bin, as one row: there are few."""
    return told_events.groupBy(*_likeness()).agg(*_together())


@words.made_once
def _likeness() -> list[Column]:
    alike = ("day", "queue", "came_into", "taken_from", "deed", "by", "name")
    return [*words.columns(*alike), bin_number("value").alias("bin")]


@words.made_once
def _together() -> list[Column]:
    return [F.count("*").alias("times"), *collected("value")]


@words.made_once
def _places() -> list[Column]:
    """Where a row counts: in its queue, with its tag, or in all and with its worker, if there is
    one; and in the queue that a job came into or was taken from.
    """

    def place(queue: Column, deed: Column, by: Column, name: Column) -> Column:
        struct = {"queue": queue, "deed": deed, "by": by, "name": name}
        found = F.struct(*(column.alias(called) for called, column in struct.items()))
        return F.when(queue.isNotNull() & deed.isNotNull(), found)

    is_of_tag = F.col("by") == TAG
    group = F.when(is_of_tag, TAG).otherwise(ALL), F.when(is_of_tag, F.col("name"))
    # Whose worker held the job is not who brought it into another queue.
    is_of_worker = ~is_of_tag & (F.col("name") != "")
    of_worker = place(F.col("queue"), F.col("deed"), F.lit(WORKER), F.col("name"))
    places = F.array(
        place(F.col("queue"), F.col("deed"), *group),
        F.when(is_of_worker, of_worker),
        place(F.col("came_into"), F.lit("came"), *group),
        place(F.col("taken_from"), F.lit("was taken"), *group),
    )
    kept = words.columns("day", "bin", "times", "count", "mean", "variance", "sketch")
    return [*kept, F.inline(F.array_compact(places))]


@words.made_once
def _figures() -> list[Column]:
    """What a row counts, and what it has of each series."""
    return [
        *words.columns(*_KEYS),
        *(_count(name).alias(name) for name in COUNTS),
        *told("wait", F.col("deed") == "popped"),
        *told("run", F.col("deed").isin("completed", "moved on")),
    ]


def _count(name: str) -> Column:
    counting = [deed for deed, counts in _DEEDS.items() if name in counts]
    return F.when(F.col("deed").isin(*counting), F.col("times")).otherwise(0)
