"""Write events to Parquet files, one for each day and queue, without Spark."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.lake.event_columns import EVENTS

LETTERS = "A-Za-z0-9._-"
LONGEST_NAME = 80
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""Spark reads a folder of this name as null."""

AT_ONCE = 64 << 20
"""The bytes of events that are collected before they are written."""

# A queue may have any name, a folder may not: the file has the name of the queue.
_STORED = ["queue_name" if name == "queue" else name for name in EVENTS.names]
# Columns of unique values: a dictionary would only be a second copy of them.
_ONCE = ("number", "job_id", "data")
_REPEATED = [name for name in _STORED if name not in _ONCE]

_PLAIN_NAME = re.compile(rf"[{LETTERS}]{{1,{LONGEST_NAME}}}")
_ODD_LETTERS = re.compile(rf"[^{LETTERS}]")
_EPOCH = dt.date(1970, 1, 1)
_DAY = 86_400_000_000


def write_events(root: Path, folder: str, name: str, events: Iterable[pa.RecordBatch]) -> list[str]:
    """Write events to files below a folder, by day and queue, and return their paths.

    The paths are relative to the root.
    """
    paths: list[str] = []
    for some in _gathered(events):
        for day, queue, rows in by_day_and_queue(some):
            # Numbered, because some file systems treat A and a as the same folder.
            file = f"{name}-{len(paths):03}.parquet"
            path = f"{folder}/day={day}/queue={queue_folder(queue)}/{file}"
            _write(root / path, rows)
            paths.append(path)
    return paths


def _write(path: Path, rows: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        rows,
        path,
        compression="zstd",
        use_dictionary=_REPEATED,
        write_page_checksum=True,
        store_schema=False,
    )


def _gathered(events: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield events as tables that are large but fit into memory."""
    batches: list[pa.RecordBatch] = []
    size = 0
    for batch in events:
        batches.append(batch)
        size += batch.nbytes
        if size >= AT_ONCE:
            yield pa.Table.from_batches(batches)
            batches, size = [], 0
    if batches:
        yield pa.Table.from_batches(batches)


def by_day_and_queue(events: pa.Table) -> Iterator[tuple[dt.date, str, pa.Table]]:
    """Yield the events of each day and queue in their order, with the stored column names."""
    days = pc.divide(events["at"].cast(pa.int64()), _DAY).combine_chunks()
    coded = events["queue"].combine_chunks().dictionary_encode()
    queues = coded.dictionary.to_pylist()
    groups = pc.add(pc.multiply(days, len(queues)), coded.indices)
    # The sort is stable.
    order = pc.array_sort_indices(groups)
    runs = pc.run_end_encode(groups.take(order))
    stored = events.take(order).rename_columns(_STORED)
    begin = 0
    for group, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        day, queue = divmod(group, len(queues))
        yield _EPOCH + dt.timedelta(days=day), queues[queue], stored.slice(begin, end - begin)
        begin = end


def queue_folder(queue: str) -> str:
    """Return the folder name for a queue: the name of the queue, or a similar safe one."""
    if _PLAIN_NAME.fullmatch(queue) and queue != NULL_FOLDER:
        return queue
    digest = hashlib.sha256(queue.encode()).hexdigest()[:16]
    return f"{_ODD_LETTERS.sub('_', queue[:40])}~{digest}"
