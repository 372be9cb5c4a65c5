from __future__ import annotations

from pathlib import Path

import pytest

from headrace.lake.batches import begin, end, folder_of, sweep
from headrace.lake.files import MAKING, LocalFiles
from headrace.lake.lake import Lake
from headrace.lake.manifest import Span


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(LocalFiles(tmp_path), "shop", [7])


def begun_with_files(lake: Lake) -> str:
    batch = begin(lake, lake.snapshot())
    lake.files.create(f"{folder_of(batch)}/day=2026-11-01/part.parquet", b"x")
    return batch


def commit(lake: Lake, batch: str) -> None:
    base = lake.snapshot()
    to = f"1-{base.number + 1}"
    lake.commit(base, batch, spans=[Span(shard=0, after=base.offsets[0], to=to)])


def paths(lake: Lake) -> set[str]:
    return {found.path.split("/")[0] for found in lake.files.list("")}


def test_what_a_dead_batch_left_is_removed(lake: Lake) -> None:
    batch = begun_with_files(lake)
    lake.files.create(f"{MAKING}/half", b"")
    assert sweep(lake, older_than=0) == [batch]
    assert paths(lake) == {"lake.json"}


def test_what_may_live_is_left_alone(lake: Lake) -> None:
    begun_with_files(lake)
    lake.files.create(f"{MAKING}/half", b"")
    assert sweep(lake) == []
    assert paths(lake) == {"lake.json", "begun", "events", MAKING}


def test_what_is_committed_stays_also_if_its_note_is_left(lake: Lake) -> None:
    other, batch = begun_with_files(lake), begun_with_files(lake)
    commit(lake, other)
    end(lake, other)
    commit(lake, batch)
    assert sweep(lake, older_than=0) == []
    assert lake.files.list("begun") == []
    assert len(lake.files.list("events")) == 2


def test_no_two_batches_are_the_same(lake: Lake) -> None:
    base = lake.snapshot()
    assert len({begin(lake, base) for _ in range(100)}) == 100
