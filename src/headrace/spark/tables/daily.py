"""daily: what a queue did on a day, in all, by tag and by worker."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from headrace.engine.events import OF_JOBS
from headrace.spark.tables import words
from headrace.spark.tables.histories import NO_TAGS, tag_list, with_tags
from headrace.spark.tables.series import (
    PARTS,
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
_NEEDED = (
    "day",
    "queue",
    "worker",
    "shard",
    "job_id",
    "number",
    "kind",
    "wait",
    "run",
    "tags",
    "reason",
    "was",
    "next_queue",
    "from_queue",
)

_FEW = 100_000


def daily(events: DataFrame, *, few_tags: bool = False) -> DataFrame:
    """By queue and day, once for all (`by` is all) and once for each tag and worker (`name`).

    Where few jobs have tags, which `has_few_tags` tells, theirs cost little.
    """
    of_jobs = events.where(words.is_kind(*OF_JOBS)).select(*_NEEDED)
    by_tag = _by_tag(of_jobs, few_tags=few_tags)
    deeds = _deeds(of_jobs, WORKER, F.col("worker")).unionByName(by_tag)
    # First by deed and bin, which leaves few rows, then these as often as they count.
    by_bin = deeds.groupBy("day", "queue", "by", "name", "deed", "bin").agg(
        F.count("*").alias("times"), *collected("value")
    )
    rows = by_bin.select("*", F.explode(_groups()).alias("group")).select(
        "day",
        "queue",
        "group.*",
        *(_count(name).alias(name) for name in COUNTS),
        *told("wait", F.col("deed") == "popped"),
        *told("run", F.col("deed").isin("completed", "moved on")),
    )
    keys = ["day", "queue", "by", "name"]
    columns = (*keys[1:], *COUNTS, *(f"{name}_{part}" for name in SERIES for part in PARTS))
    return merged_days(rows, keys).select(*columns, "day")


def merged_days(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows of the table as one for each value of these keys, as if all days were one."""
    gathering = [column for name in SERIES for column in gathered(name)]
    sums = [F.sum(name).alias(name) for name in COUNTS]
    return (
        rows.groupBy(*keys)
        .agg(*sums, *gathering)
        .select(*keys, *COUNTS, *(column for name in SERIES for column in united(name)))
        .select(*keys, *COUNTS, *(column for name in SERIES for column in finished(name)))
    )


def _groups() -> Column:
    """Where a row counts: with its tag, or in all and with its worker, if there is one."""

    def group(by: str, name: Column) -> Column:
        return F.struct(F.lit(by).alias("by"), name.cast("string").alias("name"))

    in_all = group(ALL, F.lit(None))
    return (
        F.when(F.col("by") == TAG, F.array(group(TAG, F.col("name"))))
        .when(F.col("name") == "", F.array(in_all))
        .otherwise(F.array(in_all, group(WORKER, F.col("name"))))
    )


def has_few_tags(events: DataFrame) -> bool:
    """Whether the ids of all jobs with tags can be sent to every task."""
    return events.where(F.col("tags") != NO_TAGS).limit(_FEW + 1).count() <= _FEW


def _by_tag(of_jobs: DataFrame, *, few_tags: bool) -> DataFrame:
    """What jobs with tags did; only they are put in order, for theirs."""
    tagged = of_jobs.where(F.col("tags") != NO_TAGS).select("shard", "job_id").distinct()
    tagged = F.broadcast(tagged) if few_tags else tagged
    told_tags = with_tags(of_jobs.join(tagged, ["shard", "job_id"], "left_semi"))
    each = told_tags.withColumn("tag", F.explode(tag_list("has_tags")))
    return _deeds(each, TAG, F.col("tag"))


def _deeds(events: DataFrame, by: str, name: Column) -> DataFrame:
    """What each event means to its queue, and to the one that a job came into or was taken from."""
    waited = F.when(words.is_kind("popped"), F.col("wait"))
    ran = F.when(words.is_kind("completed"), F.col("run"))
    value = words.at_least_zero(F.coalesce(waited, ran))
    # Whose worker held the job is not who brought it into another queue.
    other = F.lit("") if by == WORKER else name
    here = _deed(F.col("queue"), _deed_here(), name, value)
    nothing = F.lit(None).cast("bigint")
    came = _deed(F.col("next_queue"), F.lit("came"), other, nothing)
    taken = _deed(F.col("from_queue"), F.lit("was taken"), other, nothing)
    is_taken = words.comes_again() & ~words.was("complete")
    deeds = (
        F.when(F.col("next_queue").isNotNull(), F.array(here, came))
        .when(is_taken, F.array(here, taken))
        .when(_deed_here().isNotNull(), F.array(here))
    )
    return events.select("day", F.lit(by).alias("by"), F.inline(deeds)).select(
        "*", bin_number("value").alias("bin")
    )


def _deed(queue: Column, deed: Column, name: Column, value: Column) -> Column:
    return F.struct(
        queue.alias("queue"), deed.alias("deed"), name.alias("name"), value.alias("value")
    )


def _deed_here() -> Column:
    """Null is a deed that is not counted."""
    is_loss = words.costs_retry()
    return (
        F.when(words.is_kind("put"), F.when(~words.was(words.REPLACED), "put"))
        .when(words.is_kind("completed") & F.col("next_queue").isNotNull(), "moved on")
        .when(words.is_kind("failed") & F.col("run").isNull(), "set aside")
        .when(words.is_kind("failed") & is_loss, "failed by a loss")
        .when(words.is_kind("lost") & is_loss, "lost at a cost")
        .when(words.is_kind(*_DEEDS), F.col("kind"))
    )


def _count(name: str) -> Column:
    counting = [deed for deed, counts in _DEEDS.items() if name in counts]
    return F.when(F.col("deed").isin(*counting), F.col("times")).otherwise(0)
