"""A careful hand-written export of events to Parquet, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import redis

from headrace.lake.event_columns import event_columns

PAGE = 5000
ROWS_A_FILE = 500_000


def log_to_parquet(url: str, stream: str, folder: Path) -> int:
    """Read the log with XRANGE and write it to Parquet; return the number of events."""
    server = redis.Redis.from_url(url)
    # Use the raw replies: redis-py would build a dict for each entry.
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
