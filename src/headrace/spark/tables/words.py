"""What the events of jobs say, as columns: what ends an attempt, what costs a retry, which day."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

REPLACED = "replaced"
"""What a put says of a job that got new data and kept its place."""

# An operator who takes a lease back, and a worker that closes its session, cost no retry.
COSTLY_LOSSES = ("lease expired", "session ended")

# What an import brings had happened elsewhere, before.
IMPORTED = "imported"

DAY_MS = 86_400_000
MINUTE_MS = 60_000


T = TypeVar("T")


def made_once(make: Callable[..., T]) -> Callable[..., T]:
    """Columns that are the same in every query: to make one costs some calls of Java, each time."""
    made: WeakKeyDictionary[SparkContext, dict[tuple[str, ...], T]] = WeakKeyDictionary()

    @wraps(make)
    def once(*names: str) -> T:
        context = SparkContext._active_spark_context  # noqa: SLF001 - it starts none
        if context is None:
            return make(*names)
        known = made.setdefault(context, {})
        if names not in known:
            known[names] = make(*names)
        return known[names]

    return once


@made_once
def columns(*names: str) -> list[Column]:
    """Columns by their names."""
    return [F.col(name) for name in names]


def is_kind(*kinds: str) -> Column:
    """Whether an event is of one of these kinds."""
    return F.col("kind").isin(*kinds)


def was(state: str) -> Column:
    """Whether it was in this state before, null told as no."""
    return F.coalesce(F.col("was") == state, F.lit(False))


def begins_life() -> Column:
    """Whether a job came into being, which may have the id of one that is gone."""
    return is_kind("put") & F.col("was").isNull()


def comes_again() -> Column:
    """Whether a job that exists was put again, and so left its place."""
    return is_kind("put") & F.col("was").isNotNull() & ~was(REPLACED)


def is_imported() -> Column:
    """Whether something had happened elsewhere, and was brought here."""
    return F.coalesce(F.col("reason") == IMPORTED, F.lit(False))


def ends_attempt() -> Column:
    """Whether a worker no longer holds the job."""
    was_running = F.col("run").isNotNull()
    return (
        (is_kind("completed", "retried", "released", "lost") & ~is_imported())
        | (is_kind("failed", "cancelled") & was_running)
        | (is_kind("put") & was("running"))
    )


def ends_life() -> Column:
    """Whether the job is over, unless it is put again."""
    return is_kind("cancelled", "expired") | (is_kind("completed") & F.col("next_queue").isNull())


def costs_retry() -> Column:
    """Whether the server counts a retry."""
    return is_kind("retried") | (is_kind("lost", "failed") & F.col("reason").isin(*COSTLY_LOSSES))


def at_least_zero(milliseconds: Column) -> Column:
    """A span, which a clock that was set back may have made negative."""
    return F.when(milliseconds < 0, 0).otherwise(milliseconds)


def milliseconds_of(at: str = "at") -> Column:
    """A moment in milliseconds."""
    return F.unix_millis(F.col(at))


def day_of(at: str = "at") -> Column:
    """The UTC day of a moment, whatever the time zone of the session is."""
    return F.expr(f"date_from_unix_date(cast(unix_millis({at}) div {DAY_MS} as int))")


def minute_of(at: str = "at") -> Column:
    """The beginning of the minute of a moment."""
    return F.expr(f"timestamp_millis(unix_millis({at}) div {MINUTE_MS} * {MINUTE_MS})")
