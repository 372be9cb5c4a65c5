"""The counters and statistics of queues for one day, read in one atomic step on each shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from headrace.engine.call import build
from headrace.engine.check import EPOCH, day_number
from headrace.engine.statistics import Series, Stats, merged, read_series
from headrace.operations.batches import chunks
from headrace.operations.core import Core
from headrace.operations.protocols import QueueLike
from headrace.operations.queues import counts, text_map
from headrace.operations.requests import ask_all
from headrace.transport.drive import Operation

TODAY = -1
QUEUES_A_CALL = 200


@dataclass(frozen=True, slots=True)
class DailyTotals:
    """The counters (books) of a queue and the statistics of the queue for one day, on one shard.

    The counters and the statistics include every event up to event number `number`.
    """

    number: int
    day: int
    created_ms: int | None
    books: Mapping[str, int]
    wait: Series
    run: Series
    failures: int
    retries: int


def daily_totals(
    core: Core, queues: Sequence[str], day: int = TODAY
) -> Operation[dict[str, Sequence[DailyTotals]]]:
    """Return the totals of each queue on every shard; `day` is the number of days since 1970."""
    found: dict[str, Sequence[DailyTotals]] = {}
    for names in chunks(queues, QUEUES_A_CALL):
        call = build("day_totals", _read, [(name,) for name in names], day=day)
        replies = yield from ask_all(core, call)
        found |= zip(names, zip(*replies, strict=True), strict=True)
    return found


def _read(reply: list[Any]) -> list[DailyTotals]:
    number, day, *rows = reply
    return [_totals(number, day, row) for row in rows]


def _totals(number: int, day: int, row: list[Any]) -> DailyTotals:
    created, books, summary, bins = row
    about = text_map(summary)
    counted = text_map(bins)
    return DailyTotals(
        number=number,
        day=day,
        created_ms=int(created) if created else None,
        books={name: int(value) for name, value in text_map(books).items()},
        wait=read_series("wait", about, counted),
        run=read_series("run", about, counted),
        failures=int(about.get("failures", 0)),
        retries=int(about.get("retries", 0)),
    )


def stats(queue: QueueLike, day: str | date | None = None) -> Operation[Stats]:
    """Return the waiting and running times, failures and retries of a UTC day (default: today).

    `day` is a date or a string such as "2026-11-18".

    Raises InvalidArgument if `day` is malformed or before 1970.

        queue.stats().run.mean
    """
    number = TODAY if day is None else day_number(day)
    found = yield from daily_totals(queue.core, [queue.name], number)
    failed = (yield from counts(queue)).failed
    return merged_stats(queue.name, found[queue.name], failed)


def merged_stats(queue: str, totals: Sequence[DailyTotals], failed: int) -> Stats:
    """Merge the totals of a queue on all shards into the statistics of the day."""
    return Stats(
        queue=queue,
        day=EPOCH + timedelta(days=totals[0].day),
        wait=merged(each.wait for each in totals),
        run=merged(each.run for each in totals),
        failed=failed,
        failures=sum(each.failures for each in totals),
        retries=sum(each.retries for each in totals),
    )
