"""What a careful person would write by hand, in one process: the floors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import redis

from headrace.lake.columns import event_columns

PAGE = 5000
ROWS_A_FILE = 500_000


def log_to_parquet(url: str, stream: str, folder: Path) -> int:
    """XRANGE pages to Arrow to Parquet; returns how many events."""
    server = redis.Redis.from_url(url)
    # As they come; redis-py would make a dict of each.
    server.set_response_callback("XRANGE", lambda reply, **_: reply)
    rows = 0
    writer: pq.ParquetWriter | None = None
    for entries in _pages(server, stream):
        batch = event_columns(0, entries)
        if writer is None:
            writer = pq.ParquetWriter(folder / f"{rows}.parquet", batch.schema)
        writer.write_batch(batch)
        rows += batch.num_rows
        if rows % ROWS_A_FILE == 0:
            writer.close()
            writer = None
    if writer is not None:
        writer.close()
    return rows


def _pages(server: redis.Redis, stream: str) -> Iterator[list[Any]]:
    start = "-"
    while entries := server.execute_command("XRANGE", stream, start, "+", "COUNT", PAGE):
        yield entries
        start = f"({entries[-1][0].decode()}"


@dataclass(slots=True)
class Welford:
    """Count, mean and squares as values come, and their histogram."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    bins: Counter[str] = field(default_factory=Counter)

    def add(self, milliseconds: int) -> None:
        self.count += 1
        before = self.mean
        self.mean += (milliseconds - before) / self.count
        self.squares += (milliseconds - self.mean) * (milliseconds - before)
        self.bins[_bin(milliseconds)] += 1


def _bin(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    if seconds < 60:
        return f"s{seconds}"
    if seconds < 3600:
        return f"m{seconds // 60}"
    if seconds < 86400:
        return f"q{seconds // 900}"
    if seconds < 259_200:
        return f"h{seconds // 3600}"
    return f"d{min(366, seconds // 86400)}"


@dataclass(slots=True)
class Books:
    """The same figures as the tables daily, failures and throughput hold."""

    waits: dict[tuple[str, date], Welford] = field(default_factory=lambda: defaultdict(Welford))
    runs: dict[tuple[str, date], Welford] = field(default_factory=lambda: defaultdict(Welford))
    kinds: Counter[tuple[str, date, str]] = field(default_factory=Counter)
    failures: Counter[tuple[str, date, str]] = field(default_factory=Counter)
    minutes: Counter[tuple[str, Any, str]] = field(default_factory=Counter)


COLUMNS = ["at", "kind", "queue", "wait", "run", "failure"]


def sum_up(files: list[Path]) -> Books:
    """One loop over all events."""
    books = Books()
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(columns=COLUMNS):
            _add(books, batch)
    return books


def _add(books: Books, batch: pa.RecordBatch) -> None:
    columns = [batch.column(name).to_pylist() for name in COLUMNS]
    for at, kind, queue, wait, run, failure in zip(*columns, strict=True):
        day = at.date()
        books.kinds[queue, day, kind] += 1
        books.minutes[queue, at.replace(second=0, microsecond=0), kind] += 1
        if kind == "popped":
            books.waits[queue, day].add(wait)
        elif kind == "completed":
            books.runs[queue, day].add(run)
        elif failure is not None:
            books.failures[queue, day, failure] += 1
