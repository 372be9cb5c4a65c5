"""Column expressions over events: the meaning and day of an event, and the tags of its job."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.engine.events import OF_JOBS

REPLACED = "replaced"
"""The value in the column `was` for a put that gave a job new data and kept the job's position."""

# The other reasons for losing a lease cost no retry: "session closed", "server outage", "operator".
COSTLY_LOSSES = ("lease expired", "session ended")

# The reason in the events of jobs that were imported from another system.
IMPORTED = "imported"

DAY_MS = 86_400_000
MINUTE_MS = 60_000
NO_TAGS = "[]"


def columns(*names: str) -> list[Column]:
    """Return the columns with these names."""
    return [F.col(name) for name in names]


def day_last(table: DataFrame) -> DataFrame:
    """Return a table with `day` as the last column."""
    return table.select(*(name for name in table.columns if name != "day"), "day")


def is_kind(*kinds: str) -> Column:
    """Return whether an event is of one of these kinds."""
    return F.col("kind").isin(*kinds)


def was(state: str) -> Column:
    """Return whether the job was in this state before the event; false if the state is unknown."""
    return F.coalesce(F.col("was") == state, F.lit(False))


def creates_job() -> Column:
    """Return whether an event creates a job. An earlier job may have had the same id."""
    return is_kind("put") & F.col("was").isNull()


def is_put_again() -> Column:
    """Return whether an existing job was put again and therefore lost its position."""
    return is_kind("put") & F.col("was").isNotNull() & ~was(REPLACED)


def is_imported() -> Column:
    """Return whether an import from another system logged the event."""
    return F.coalesce(F.col("reason") == IMPORTED, F.lit(False))


def ends_attempt() -> Column:
    """Return whether an event ends the lease of a worker."""
    was_running = F.col("run").isNotNull()
    return (
        (is_kind("completed", "retried", "released", "lost") & ~is_imported())
        | (is_kind("failed", "cancelled") & was_running)
        | (is_kind("put") & was("running"))
    )


def finishes_job() -> Column:
    """Return whether an event finishes its job."""
    return is_kind("cancelled", "expired") | (is_kind("completed") & F.col("next_queue").isNull())


def costs_retry() -> Column:
    """Return whether the server counts the event as a retry."""
    return is_kind("retried") | (is_kind("lost", "failed") & F.col("reason").isin(*COSTLY_LOSSES))


def at_least_zero(milliseconds: Column) -> Column:
    """Return a duration, or 0 if the duration is negative because a clock was set back."""
    return F.when(milliseconds < 0, 0).otherwise(milliseconds)


def milliseconds_of(at: str = "at") -> Column:
    """Return a timestamp in milliseconds."""
    return F.unix_millis(F.col(at))


def day_of(at: str = "at") -> Column:
    """Return the UTC day of a timestamp, whatever time zone the Spark session has."""
    return F.expr(f"date_from_unix_date(cast(unix_millis({at}) div {DAY_MS} as int))")


def minute_of(at: str = "at") -> Column:
    """Round a timestamp down to the full minute."""
    return F.expr(f"timestamp_millis(unix_millis({at}) div {MINUTE_MS} * {MINUTE_MS})")


# The events of each job in order, and the tags of each job


def by_job() -> WindowSpec:
    """Return the window over all events of a job, in the order of the event log.

    The job id is the first column, because Spark sorts faster if the first bytes of the first
    column differ between rows.
    """
    return Window.partitionBy("job_id", "shard").orderBy("number")


def until_now() -> WindowSpec:
    """Return the window over the events of a job up to the current event."""
    return by_job().rowsBetween(Window.unboundedPreceding, Window.currentRow)


def has_tags() -> Column:
    """Return whether an event sets at least one tag of a job."""
    return is_kind("put", "tagged") & (F.col("tags") != NO_TAGS)


def count_tagged(events: DataFrame) -> int:
    """Return the number of events with tags. If the number is 0, tables can skip the tags."""
    found = events.where(has_tags())
    # isEmpty is faster than count.
    return 0 if found.isEmpty() else found.count()


def with_tags(events: DataFrame, *, tagged: int | None = None) -> DataFrame:
    """Return the events of jobs, each with the tags that its job had at that time.

    The column `has_tags` has these tags as JSON. `tagged` is the result of `count_tagged`, or None
    if unknown.
    """
    known = F.lit(None).cast("string") if tagged == 0 else _known_tags()
    return events.where(is_kind(*OF_JOBS)).withColumn("has_tags", known)


def _known_tags() -> Column:
    return F.last(tags_in_event(), ignorenulls=True).over(until_now())


def tags_in_event() -> Column:
    """Return the tags in an event as JSON; null if the event does not set tags."""
    return F.when(is_kind("put", "tagged"), F.coalesce("tags", F.lit(NO_TAGS)))


def tag_list(text: str) -> Column:
    """Return tags as a list. The list is empty if the tags are unknown."""
    return F.coalesce(F.from_json(text, "array<string>"), F.array().cast("array<string>"))
