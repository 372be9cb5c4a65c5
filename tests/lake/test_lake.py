from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headrace.errors import InvalidArgument
from headrace.lake.files import FileInfo, LocalFiles
from headrace.lake.lake import (
    CHECKPOINT_EVERY,
    CHECKPOINTS_KEPT,
    Lake,
    LakeExists,
    LakeMoved,
    LakeNotFound,
    manifest_path,
)
from headrace.lake.manifest import DataFile, LakeSnapshot, LakeUnreadable, LogRange

DAY = dt.date(2026, 11, 1)


class CountingFiles(LocalFiles):
    """Files that count their operations."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.done: Counter[str] = Counter()

    def read(self, path: str) -> bytes:
        self.done["read"] += 1
        return super().read(path)

    def list(self, folder: str) -> list[FileInfo]:
        self.done["list"] += 1
        return super().list(folder)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(LocalFiles(tmp_path), "shop", [7, 8])


def data_file(name: str) -> DataFile:
    return DataFile(path=f"events/{name}", day=DAY, queue="mail", rows=1, bytes=10)


def commit_one(lake: Lake, base: LakeSnapshot) -> LakeSnapshot:
    number = base.number + 1
    span = LogRange(shard=0, after=base.offsets[0], to=f"{number}-{number}")
    return lake.commit(base, f"b{number}", ranges=[span], added=[data_file(f"f{number}")])


def test_a_new_lake_is_empty(lake: Lake) -> None:
    assert lake.snapshot() == LakeSnapshot(number=0, offsets={0: "0-0", 1: "0-0"})


def test_second_create_is_refused(lake: Lake) -> None:
    with pytest.raises(LakeExists, match="there is already a lake in /"):
        Lake.create(lake.files, "shop", [1])
    assert Lake.open(lake.files).identity == lake.identity


def test_open_without_lake_raises(tmp_path: Path) -> None:
    with pytest.raises(LakeNotFound, match="create one with headrace lake sync"):
        Lake.open(LocalFiles(tmp_path))


def test_commit_is_visible_to_all_readers(lake: Lake) -> None:
    other = Lake.open(lake.files)
    other.snapshot()
    mine = commit_one(lake, lake.snapshot())
    assert mine.offsets == {0: "1-1", 1: "0-0"}
    assert [file.path for file in mine.files] == ["events/f1"]
    assert other.snapshot() == mine == lake.snapshot() == Lake.open(lake.files).snapshot()


def test_files_are_replaced(lake: Lake) -> None:
    first = commit_one(lake, lake.snapshot())
    second = lake.commit(first, "c", added=[data_file("big")], removed=["events/f1"])
    assert [file.path for file in second.files] == ["events/big"]
    assert second.offsets == first.offsets
    assert [file.path for file in first.files] == ["events/f1"]


def test_commit_on_old_snapshot_is_refused(lake: Lake) -> None:
    base = lake.snapshot()
    first = commit_one(lake, base)
    other = Lake.open(lake.files)
    with pytest.raises(LakeMoved, match="another writer committed manifest 1"):
        other.commit(base, "late", added=[data_file("late")])
    assert other.snapshot() == first


def test_racing_writers_each_commit_once(lake: Lake) -> None:
    def write(name: str) -> None:
        mine = Lake.open(lake.files)
        for turn in range(10):
            while True:
                base = mine.snapshot()
                number = base.number + 1
                span = LogRange(shard=0, after=base.offsets[0], to=f"{number}-{number}")
                try:
                    mine.commit(base, name, ranges=[span], added=[data_file(f"{name}{turn}")])
                except LakeMoved:
                    continue
                break

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "abcd"))
    found = lake.snapshot()
    assert found.number == 40
    assert found.offsets[0] == "40-40"
    assert sorted(file.path for file in found.files) == sorted(
        f"events/{name}{turn}" for name in "abcd" for turn in range(10)
    )


def test_range_that_does_not_follow_the_lake_is_refused(lake: Lake) -> None:
    base = commit_one(lake, lake.snapshot())
    for after in ("0-0", "2-2"):
        with pytest.raises(InvalidArgument, match="has the events of shard 0 up to 1-1"):
            lake.commit(base, "b", ranges=[LogRange(shard=0, after=after, to="9-9")])
    assert lake.snapshot() == base


def test_removing_unknown_file_is_refused(lake: Lake) -> None:
    with pytest.raises(InvalidArgument, match="'events/x' is not in the lake"):
        lake.commit(lake.snapshot(), "b", removed=["events/x"])


def test_checkpoints_limit_manifests_read_on_open(lake: Lake) -> None:
    base = lake.snapshot()
    for _ in range(CHECKPOINT_EVERY * 5 + 3):
        base = commit_one(lake, base)
    files = CountingFiles(Path(str(lake.files)))
    again = Lake.open(files)
    assert again.snapshot() == base
    assert files.done == {"read": 7, "list": 1}
    assert len(files.list("checkpoints")) == CHECKPOINTS_KEPT


@pytest.mark.parametrize("missing", ["all", "newest"])
def test_lake_opens_without_checkpoints(lake: Lake, missing: str) -> None:
    base = lake.snapshot()
    for _ in range(CHECKPOINT_EVERY * 2 + 1):
        base = commit_one(lake, base)
    checkpoints = lake.files.list("checkpoints")
    for found in checkpoints if missing == "all" else checkpoints[-1:]:
        lake.files.delete(found.path)
    assert Lake.open(lake.files).snapshot() == base


def test_manifests_are_listed_from_a_number_on(lake: Lake) -> None:
    base = lake.snapshot()
    for _ in range(3):
        base = commit_one(lake, base)
    assert [manifest.number for manifest in lake.manifests()] == [1, 2, 3]
    assert [manifest.batch for manifest in lake.manifests(beyond=2)] == ["b3"]
    assert list(lake.manifests(beyond=3)) == []


def test_lake_of_later_version_is_refused(lake: Lake) -> None:
    commit_one(lake, lake.snapshot())
    path = Path(str(lake.files)) / manifest_path(1)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 2}))
    with pytest.raises(LakeUnreadable, match="has format 2"):
        Lake.open(lake.files).snapshot()


def test_unknown_file_among_checkpoints_is_named(lake: Lake) -> None:
    base = lake.snapshot()
    for _ in range(CHECKPOINT_EVERY):
        base = commit_one(lake, base)
    lake.files.create("checkpoints/readme.txt", b"")
    with pytest.raises(LakeUnreadable, match=r"checkpoints/readme\.txt"):
        Lake.open(lake.files).snapshot()
