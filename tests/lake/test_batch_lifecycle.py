from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from headrace.lake.batch_lifecycle import begin, delete_replaced, end, folder_of, sweep
from headrace.lake.files import MAKING, LocalFiles
from headrace.lake.lake import BatchDropped, Lake
from headrace.lake.manifest import DataFile, LogRange


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
    lake.commit(base, batch, ranges=[LogRange(shard=0, after=base.offsets[0], to=to)])


def paths(lake: Lake) -> set[str]:
    return {found.path.split("/")[0] for found in lake.files.list("")}


def test_sweep_removes_files_of_abandoned_batch(lake: Lake) -> None:
    batch = begun_with_files(lake)
    lake.files.create(f"{MAKING}/half", b"")
    assert sweep(lake, older_than=0) == [batch]
    assert paths(lake) == {"lake.json", "manifests"}
    assert sweep(lake, older_than=0) == []
    assert lake.snapshot().number == 1


def test_sweep_keeps_young_batch(lake: Lake) -> None:
    begun_with_files(lake)
    lake.files.create(f"{MAKING}/half", b"")
    assert sweep(lake) == []
    assert paths(lake) == {"lake.json", "begun", "events", MAKING}


def test_sweep_keeps_committed_batch_with_leftover_note(lake: Lake) -> None:
    other, batch = begun_with_files(lake), begun_with_files(lake)
    commit(lake, other)
    end(lake, other)
    commit(lake, batch)
    assert sweep(lake, older_than=0) == []
    assert lake.files.list("begun") == []
    assert len(lake.files.list("events")) == 2


def test_commit_of_swept_batch_is_refused(lake: Lake) -> None:
    asleep = begun_with_files(lake)
    sweep(Lake.open(lake.files), older_than=0)
    with pytest.raises(BatchDropped, match="run the command again"):
        commit(lake, asleep)
    assert lake.snapshot().offsets == {0: "0-0"}


class LateFiles(LocalFiles):
    """Files of a sweep: another process commits a batch before the first manifest of the sweep."""

    batch: str | None = None

    def create(self, path: str, content: bytes) -> bool:
        if path.startswith("manifests/") and self.batch is not None:
            batch, self.batch = self.batch, None
            commit(Lake.open(LocalFiles(str(self))), batch)
        return super().create(path, content)


def test_batch_committed_during_sweep_keeps_its_files(lake: Lake) -> None:
    batch, dead = begun_with_files(lake), begun_with_files(lake)
    files = LateFiles(str(lake.files))
    files.batch = batch
    assert sweep(Lake.open(files), older_than=0) == [dead]
    assert [found.path.split("/")[1] for found in lake.files.list("events")] == [f"batch={batch}"]
    assert lake.snapshot().dropped == (dead,)


def test_next_sweep_finishes_interrupted_sweep(lake: Lake) -> None:
    dead = begun_with_files(lake)
    lake.commit(lake.snapshot(), "sweep", dropped=[dead])
    assert sweep(lake, older_than=0) == [dead]
    assert paths(lake) == {"lake.json", "manifests"}
    assert lake.snapshot().number == 1


def test_replaced_files_stay_for_grace_of_their_batch(lake: Lake) -> None:
    old = DataFile(path="events/old", day=date(2026, 11, 1), queue="mail", rows=1, bytes=1)
    lake.files.create(old.path, b"x")
    lake.commit(lake.snapshot(), "first", added=[old])
    batch = begin(lake, lake.snapshot(), grace=3600)
    lake.commit(lake.snapshot(), batch, removed=[old.path])
    assert sweep(lake, older_than=0) == []
    assert delete_replaced(lake, 7200) == []
    assert lake.files.list("events") != []
    assert delete_replaced(lake, 0) == [old.path]
    assert paths(lake) == {"lake.json", "manifests"}


def test_batch_names_are_unique(lake: Lake) -> None:
    base = lake.snapshot()
    assert len({begin(lake, base) for _ in range(100)}) == 100
