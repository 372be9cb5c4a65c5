"""Helpers for lakes: files of a dying process, and comparisons of lake and log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from headrace import Client
from headrace.engine.events import Event, entry_number
from headrace.lake.event_columns import EVENTS
from headrace.lake.files import FileInfo, LocalFiles
from headrace.lake.lake import Lake
from headrace.operations.event_log import logs
from headrace.spark.lake_events import lake_events
from headrace.transport.drive import drive

T = TypeVar("T")
Key = tuple[int, int]


class Died(Exception):
    """The simulated death of a process."""


class DyingFiles(LocalFiles):
    """Files of a process that dies before or after its nth file operation."""

    def __init__(self, root: str, nth: int = 10**9, *, after: bool = False) -> None:
        super().__init__(root)
        self._left = nth
        self._after = after
        self.operations: list[str] = []

    def _do(self, verb: str, path: str, operation: Callable[[], T]) -> T:
        name = f"{verb} {path.partition('/')[0]}"
        self.operations.append(name)
        self._left -= 1
        if self._left < 0 or (self._left == 0 and not self._after):
            raise Died(name)
        result = operation()
        if self._left == 0:
            raise Died(name)
        return result

    def create(self, path: str, content: bytes) -> bool:
        return self._do("create", path, lambda: super(DyingFiles, self).create(path, content))

    def flush(self, paths: Iterable[str]) -> None:
        self._do("flush", "events", lambda: super(DyingFiles, self).flush(paths))

    def list(self, folder: str) -> list[FileInfo]:
        return self._do("list", folder, lambda: super(DyingFiles, self).list(folder))

    def delete(self, path: str) -> None:
        self._do("delete", path, lambda: super(DyingFiles, self).delete(path))


def rows_of(spark: SparkSession, lake: Lake) -> dict[Key, dict[str, Any]]:
    """Return the rows of a lake by shard and number. Fail on duplicates."""
    rows = [row.asDict() for row in lake_events(spark, lake, lake.snapshot()).collect()]
    found = {(row["shard"], row["number"]): row for row in rows}
    assert len(found) == len(rows)
    return found


def expect_equal(spark: SparkSession, lake: Lake, told: Iterable[Event]) -> None:
    """Fail unless the lake has exactly these events, unchanged."""
    rows = rows_of(spark, lake)
    events = {(event.shard, event.number): event for event in told}
    assert rows.keys() == events.keys()
    columns = [name for name in EVENTS.names if name not in ("missing", "more")]
    for key, event in events.items():
        row = rows[key]
        expected = {name: getattr(event, name) for name in columns}
        expected["at"] = event.at.replace(tzinfo=None)
        assert {name: row[name] for name in columns} == expected
        assert row["day"] == event.at.date()


def expect_proof(hr: Client, lake: Lake) -> None:
    """Fail if the server may have trimmed events that are not in the lake."""
    offsets = lake.snapshot().offsets
    for log in drive(hr.core.transport, logs(hr.core)):
        mark = log.marks.get(lake.identity.id, "0-0")
        assert entry_number(mark) <= entry_number(offsets[log.shard])
        assert log.oldest_number <= entry_number(offsets[log.shard]) + 1
