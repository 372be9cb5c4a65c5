"""Events into Parquet files, one for each day and queue, as Arrow has them. No Spark."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.lake.schema import EVENTS

LETTERS = "A-Za-z0-9._-"
LONGEST_NAME = 80
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""Spark takes a folder of this name for null."""

AT_ONCE = 64 << 20
"""So many bytes of events are gathered, then they are written."""

# The name of a queue may be anything, the name of a folder may not: the first stands in the file.
_STORED = ["queue_name" if name == "queue" else name for name in EVENTS.names]
# Values that do not come again: a dictionary of them would only be one more copy.
_ONCE = ("number", "job_id", "data")
_REPEATED = [name for name in _STORED if name not in _ONCE]

_PLAIN_NAME = re.compile(rf"[{LETTERS}]{{1,{LONGEST_NAME}}}")
_ODD_LETTERS = re.compile(rf"[^{LETTERS}]")
_EPOCH = dt.date(1970, 1, 1)
_DAY = 86_400_000_000


def write_events(root: Path, folder: str, name: str, events: Iterable[pa.RecordBatch]) -> list[str]:
    """Writes events to files of this name, each below the folder by its day and queue; returns
    their paths from the root on.
    """
    paths: list[str] = []
    for some in _gathered(events):
        for day, queue, rows in by_day_and_queue(some):
            # Each by a number of its own: there are disks on which A and a are one folder.
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
    """Events as tables that are large, but fit into memory."""
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
    """The events of each day and queue, in the order in which they came, as they are stored."""
    days = pc.divide(events["at"].cast(pa.int64()), _DAY).combine_chunks()
    coded = events["queue"].combine_chunks().dictionary_encode()
    queues = coded.dictionary.to_pylist()
    groups = pc.add(pc.multiply(days, len(queues)), coded.indices)
    # Equal ones stay in their order.
    order = pc.array_sort_indices(groups)
    runs = pc.run_end_encode(groups.take(order))
    stored = events.take(order).rename_columns(_STORED)
    begin = 0
    for group, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        day, queue = divmod(group, len(queues))
        yield _EPOCH + dt.timedelta(days=day), queues[queue], stored.slice(begin, end - begin)
        begin = end


def queue_folder(queue: str) -> str:
    """The name of the folder for a queue: the queue's own, or one that is like it."""
    if _PLAIN_NAME.fullmatch(queue) and queue != NULL_FOLDER:
        return queue
    digest = hashlib.sha256(queue.encode()).hexdigest()[:16]
    return f"{_ODD_LETTERS.sub('_', queue[:40])}~{digest}"
