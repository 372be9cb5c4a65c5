"""Write events to Parquet files, one file for each day and queue, without Spark."""

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
from headrace.lake.files import make_folder

LETTERS = "A-Za-z0-9._-"
LONGEST_NAME = 80
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""Spark reads a partition folder with this name as the value null."""

AT_ONCE = 64 << 20
"""The number of bytes of events to collect in memory before writing files."""

# Not every queue name is a valid folder name, so each file stores the queue name in a column.
STORED_NAMES = ["queue_name" if name == "queue" else name for name in EVENTS.names]
# These columns have unique values, so a Parquet dictionary would only duplicate the values.
_ONCE = ("number", "job_id", "data")
_REPEATED = [name for name in STORED_NAMES if name not in _ONCE]

_PLAIN_NAME = re.compile(rf"[{LETTERS}]{{1,{LONGEST_NAME}}}")
_ODD_LETTERS = re.compile(rf"[^{LETTERS}]")
_EPOCH = dt.date(1970, 1, 1)
_DAY = 86_400_000_000


def write_events(root: Path, folder: str, name: str, events: Iterable[pa.RecordBatch]) -> list[str]:
    """Write events to files below a folder, by day and queue, and return the paths of the files.

    The paths are relative to the root.
    """
    paths: list[str] = []
    for some in _gathered(events):
        for day, queue, rows in by_day_and_queue(some):
            # Each file has its own number, because two queues may share a folder: some file
            # systems treat A and a as the same name.
            file = f"{name}-{len(paths):03}.parquet"
            path = f"{folder}/day={day}/queue={queue_folder(queue)}/{file}"
            _write(root / path, rows)
            paths.append(path)
    return paths


def _write(path: Path, rows: pa.Table) -> None:
    make_folder(path.parent)
    pq.write_table(
        rows,
        path,
        compression="zstd",
        use_dictionary=_REPEATED,
        write_page_checksum=True,
        store_schema=False,
    )


def _gathered(events: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Collect batches into tables of about AT_ONCE bytes, so that each table fits into memory."""
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
    """Split events by day and queue, in the given order, with the column names of lake files."""
    days = pc.divide(events["at"].cast(pa.int64()), _DAY).combine_chunks()
    coded = events["queue"].combine_chunks().dictionary_encode()
    queues = coded.dictionary.to_pylist()
    groups = pc.add(pc.multiply(days, len(queues)), coded.indices)
    # The sort is stable, so the events of a day and queue stay in order.
    order = pc.array_sort_indices(groups)
    runs = pc.run_end_encode(groups.take(order))
    stored = events.take(order).rename_columns(STORED_NAMES)
    begin = 0
    for group, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        day, queue = divmod(group, len(queues))
        yield _EPOCH + dt.timedelta(days=day), queues[queue], stored.slice(begin, end - begin)
        begin = end


def queue_folder(queue: str) -> str:
    """Return the folder name for a queue: the name of the queue, or a similar safe name."""
    if _PLAIN_NAME.fullmatch(queue) and queue != NULL_FOLDER:
        return queue
    digest = hashlib.sha256(queue.encode()).hexdigest()[:16]
    return f"{_ODD_LETTERS.sub('_', queue[:40])}~{digest}"
