"""The counts and statistics of queues on one shard, for one day, read in one atomic step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.engine.call import build
from headrace.engine.statistics import Series, read_series
from headrace.operations.batches import chunks
from headrace.operations.core import Core
from headrace.operations.queues import text_map
from headrace.operations.requests import ask_one
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
    core: Core, shard: int, queues: Sequence[str], day: int = TODAY
) -> Operation[dict[str, DailyTotals]]:
    """Return the totals of queues on a shard; `day` is the number of days since 1970-01-01."""
    found: dict[str, DailyTotals] = {}
    for names in chunks(queues, QUEUES_A_CALL):
        call = build("day_totals", list, [(name,) for name in names], day=day)
        number, of_day, *rows = yield from ask_one(core, shard, call)
        for name, row in zip(names, rows, strict=True):
            found[name] = _read(number, of_day, row)
    return found


def _read(number: int, day: int, row: list[Any]) -> DailyTotals:
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
