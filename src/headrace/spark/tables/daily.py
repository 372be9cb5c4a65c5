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
_TOLD = ("day", "queue", "kind", "was", "next_queue", "from_queue")
_NEEDED = (*_TOLD, "worker", "shard", "job_id", "number", "wait", "run", "tags", "reason")

_FEW = 100_000


def daily(events: DataFrame, *, few_tags: bool = False) -> DataFrame:
    """By queue and day, once for all (`by` is all) and once for each tag and worker (`name`).

    Where few jobs have tags, which `has_few_tags` tells, theirs cost little.
    """
    of_jobs = events.where(words.is_kind(*OF_JOBS)).select(*_NEEDED)
    by_worker = _named(of_jobs, WORKER, F.col("worker"))
    alike = _alike(by_worker.unionByName(_by_tag(of_jobs, few_tags=few_tags)))
    rows = (
        alike.select("*", F.explode(_deeds()).alias("done"))
        .select("*", F.explode(_groups()).alias("group"))
        .select("day", "done.queue", "group.*", *_figures())
    )
    keys = ["day", "queue", "by", "name"]
    columns = (*keys[1:], *COUNTS, *(f"{name}_{part}" for name in SERIES for part in PARTS))
    return merged_days(rows, keys).select(*columns, "day")


def merged_days(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows of the table as one for each value of these keys, as if all days were one."""
    return (
        rows.groupBy(*keys)
        .agg(*_gathering())
        .select(*keys, *COUNTS, *_uniting())
        .select(*keys, *COUNTS, *_finishing())
    )


@words.made_once
def _gathering() -> list[Column]:
    sums = [F.sum(name).alias(name) for name in COUNTS]
    return [*sums, *(column for name in SERIES for column in gathered(name))]


@words.made_once
def _uniting() -> list[Column]:
    return [column for name in SERIES for column in united(name)]


@words.made_once
def _finishing() -> list[Column]:
    return [column for name in SERIES for column in finished(name)]


@words.made_once
def _figures() -> list[Column]:
    """What a row counts, and what it has of each series."""
    return [
        *(_count(name).alias(name) for name in COUNTS),
        *told("wait", _deed() == "popped"),
        *told("run", _deed().isin("completed", "moved on")),
    ]


def has_few_tags(events: DataFrame) -> bool:
    """Whether the ids of all jobs with tags can be sent to every task."""
    return events.where(F.col("tags") != NO_TAGS).limit(_FEW + 1).count() <= _FEW


def _by_tag(of_jobs: DataFrame, *, few_tags: bool) -> DataFrame:
    """What jobs with tags did; only they are put in order, for theirs."""
    tagged = of_jobs.where(F.col("tags") != NO_TAGS).select("shard", "job_id").distinct()
    tagged = F.broadcast(tagged) if few_tags else tagged
    told_tags = with_tags(of_jobs.join(tagged, ["shard", "job_id"], "left_semi"))
    each = told_tags.withColumn("tag", F.explode(tag_list("has_tags")))
    return _named(each, TAG, F.col("tag"))


def _named(events: DataFrame, by: str, name: Column) -> DataFrame:
    """What is counted of events, for a worker or a tag."""
    waited = F.when(words.is_kind("popped"), F.col("wait"))
    ran = F.when(words.is_kind("completed"), F.col("run"))
    return events.select(
        *_TOLD,
        words.costs_retry().alias("costs_retry"),
        words.is_imported().alias("is_imported"),
        F.col("run").isNotNull().alias("was_held"),
        F.lit(by).alias("by"),
        name.alias("name"),
        words.at_least_zero(F.coalesce(waited, ran)).alias("value"),
    )


def _alike(events: DataFrame) -> DataFrame:
    """Events that differ only in their value, and this within a bin, as one row.

    There are few of these: what an event means is asked once for all that are alike.
    """
    facts = ("costs_retry", "is_imported", "was_held", "by", "name")
    keys = (*_TOLD, *facts, bin_number("value").alias("bin"))
    return events.groupBy(*keys).agg(F.count("*").alias("times"), *collected("value"))


def _deed() -> Column:
    return F.col("done.deed")


@words.made_once
def _deeds() -> Column:
    """What an event means to its queue, and to the one that a job came into or was taken from."""

    def done(queue: Column, deed: Column, *, by_it: bool) -> Column:
        struct = {"queue": queue, "deed": deed, "by_it": F.lit(by_it)}
        return F.struct(*(column.alias(name) for name, column in struct.items()))

    here = done(F.col("queue"), _deed_here(), by_it=True)
    came = done(F.col("next_queue"), F.lit("came"), by_it=False)
    taken = done(F.col("from_queue"), F.lit("was taken"), by_it=False)
    is_taken = words.comes_again() & ~words.was("complete")
    return (
        F.when(F.col("next_queue").isNotNull(), F.array(here, came))
        .when(is_taken, F.array(here, taken))
        .when(_deed_here().isNotNull(), F.array(here))
    )


@words.made_once
def _groups() -> Column:
    """Where a row counts: with its tag, or in all and with its worker, if there is one."""

    def group(by: str, name: Column) -> Column:
        return F.struct(F.lit(by).alias("by"), name.cast("string").alias("name"))

    in_all = group(ALL, F.lit(None))
    # Whose worker held the job is not who brought it into another queue.
    is_of_worker = F.col("done.by_it") & (F.col("name") != "")
    return (
        F.when(F.col("by") == TAG, F.array(group(TAG, F.col("name"))))
        .when(is_of_worker, F.array(in_all, group(WORKER, F.col("name"))))
        .otherwise(F.array(in_all))
    )


def _deed_here() -> Column:
    """Null is a deed that is not counted."""
    is_loss = F.col("costs_retry")
    return (
        F.when(words.is_kind("put"), F.when(~words.was(words.REPLACED), "put"))
        .when(words.is_kind("completed") & F.col("is_imported"), "came complete")
        .when(words.is_kind("failed") & F.col("is_imported"), F.lit(None).cast("string"))
        .when(words.is_kind("completed") & F.col("next_queue").isNotNull(), "moved on")
        .when(words.is_kind("failed") & ~F.col("was_held"), "set aside")
        .when(words.is_kind("failed") & is_loss, "failed by a loss")
        .when(words.is_kind("lost") & is_loss, "lost at a cost")
        .when(words.is_kind(*_DEEDS), F.col("kind"))
    )


def _count(name: str) -> Column:
    counting = [deed for deed, counts in _DEEDS.items() if name in counts]
    return F.when(_deed().isin(*counting), F.col("times")).otherwise(0)
