from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.lake import event_files
from headrace.lake.event_columns import EVENTS
from headrace.lake.event_files import queue_folder, write_events

MIDNIGHT = dt.datetime(2026, 11, 2, tzinfo=dt.UTC)


def batch_of(*events: tuple[int, str, dt.datetime]) -> pa.RecordBatch:
    blank = {"shard": 0, "version": 1, "kind": "put", "job_id": "j", "attempt": 0, "worker": ""}
    rows = [
        blank | {"number": number, "queue": queue, "at": at, "priority": 0.0, "more": {"a": b"b"}}
        for number, queue, at in events
    ]
    return pa.RecordBatch.from_pylist(rows, schema=EVENTS)


def read(path: Path) -> pa.Table:
    return pq.read_table(pa.BufferReader(path.read_bytes()))


def test_events_are_stored_by_day_and_queue_in_order(tmp_path: Path) -> None:
    before = MIDNIGHT - dt.timedelta(milliseconds=1)
    batches = [
        batch_of((1, "mail", before), (2, "a/b", before), (3, "mail", MIDNIGHT)),
        batch_of((4, "mail", before), (5, "a/b", MIDNIGHT), (6, "mail", before)),
    ]
    paths = write_events(tmp_path, "events/batch=1", "part", batches)
    odd = queue_folder("a/b")
    assert {path: read(tmp_path / path)["number"].to_pylist() for path in paths} == {
        "events/batch=1/day=2026-11-01/queue=mail/part-000.parquet": [1, 4, 6],
        f"events/batch=1/day=2026-11-01/queue={odd}/part-001.parquet": [2],
        "events/batch=1/day=2026-11-02/queue=mail/part-002.parquet": [3],
        f"events/batch=1/day=2026-11-02/queue={odd}/part-003.parquet": [5],
    }
    table = read(tmp_path / paths[0])
    assert set(table["queue_name"].to_pylist()) == {"mail"}
    assert "queue" not in table.column_names
    assert table["more"][0].as_py() == [("a", b"b")]


def test_large_input_is_written_to_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = [batch_of((number, "mail", MIDNIGHT)) for number in range(1, 6)]
    monkeypatch.setattr(event_files, "AT_ONCE", 2 * batches[0].nbytes)
    paths = write_events(tmp_path, "x", "part", batches)
    assert [read(tmp_path / path)["number"].to_pylist() for path in paths] == [[1, 2], [3, 4], [5]]
    assert len(set(paths)) == 3


def test_case_insensitive_file_system_keeps_both_files(tmp_path: Path) -> None:
    paths = write_events(tmp_path, "x", "part", [batch_of((1, "a", MIDNIGHT), (2, "A", MIDNIGHT))])
    assert len({path.lower() for path in paths}) == 2


def test_no_events_write_no_file(tmp_path: Path) -> None:
    assert write_events(tmp_path, "x", "part", []) == []


def test_each_queue_has_its_own_folder() -> None:
    plain = ["mail", "a.b-c_d", "x" * 80, "..", "_hidden"]
    assert [queue_folder(name) for name in plain] == plain
    odd = ["", "a/b", "a b", "a_b/", "mail\n", "é", "x" * 81, "__HIVE_DEFAULT_PARTITION__"]
    folders = [queue_folder(name) for name in odd]
    assert all("~" in folder and "/" not in folder for folder in folders)
    assert len(set(folders)) == len(odd)
