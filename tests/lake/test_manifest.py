"""The format of manifests is stable: later versions must read the files in golden."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from headrace.lake.manifest import (
    DataFile,
    LakeIdentity,
    LakeRecord,
    LakeSnapshot,
    LakeUnreadable,
    LogRange,
    Manifest,
    after,
    packed,
    unpacked,
)

GOLDEN = Path(__file__).parent / "golden"

DATA_FILE = DataFile(
    path="events/batch=b1/day=2026-11-01/queue=mail/part-0.parquet",
    day=dt.date(2026, 11, 1),
    queue="é/mail",
    rows=12,
    bytes=3456,
)
IDENTITY = LakeIdentity(
    id="0123456789abcdef", namespace="shop", logs=(1793491200000, 1793491200001)
)
MANIFEST = Manifest(
    number=3,
    batch="b1",
    at=dt.datetime(2026, 11, 2, 3, 4, 5, 678000, tzinfo=dt.UTC),
    ranges=(
        LogRange(shard=0, after="0-0", to="1793491200000-10"),
        LogRange(shard=1, after="1793491200000-7", to="1793491200001-12", missing=3),
    ),
    added=(DATA_FILE,),
    removed=("events/batch=b0/day=2026-11-01/queue=mail/part-0.parquet",),
)
SNAPSHOT = LakeSnapshot(
    number=3,
    offsets={0: "1793491200000-10", 1: "1793491200001-12"},
    missing=3,
    files=(DATA_FILE,),
)
VALUES = {"lake": IDENTITY, "manifest": MANIFEST, "checkpoint": SNAPSHOT}


@pytest.mark.parametrize("name", VALUES)
def test_format_1_is_read(name: str) -> None:
    text = (GOLDEN / f"{name}.1.json").read_bytes()
    assert unpacked(type(VALUES[name]), name, text) == VALUES[name]


@pytest.mark.parametrize("name", VALUES)
def test_format_1_is_written(name: str) -> None:
    assert packed(VALUES[name]) == (GOLDEN / f"{name}.1.json").read_bytes()


def test_unknown_fields_are_ignored() -> None:
    text = packed(IDENTITY).replace(b'"id"', b'"colour": "blue", "id"')
    assert unpacked(LakeIdentity, "lake.json", text) == IDENTITY


def test_later_format_is_refused() -> None:
    text = packed(IDENTITY).replace(b'"format": 1', b'"format": 2')
    with pytest.raises(LakeUnreadable, match=r"lake\.json has format 2.*formats up to 1: install"):
        unpacked(LakeIdentity, "lake.json", text)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"format": 1}',
        b'{"format": "1"}',
        b'{"format": 1, "id": 3}',
        b"\xff",
    ],
)
@pytest.mark.parametrize("kind", [LakeIdentity, Manifest])
def test_corrupt_file_is_refused(kind: type[LakeRecord], text: bytes) -> None:
    with pytest.raises(
        LakeUnreadable, match=r"here\.json is corrupt or was not written by Headrace"
    ):
        unpacked(kind, "here.json", text)


def test_manifest_is_applied_to_snapshot() -> None:
    gone = DataFile(path=MANIFEST.removed[0], day=DATA_FILE.day, queue="mail", rows=1, bytes=1)
    before = LakeSnapshot(
        number=2, offsets={1: "1793491200000-7", 2: "5-5"}, missing=1, files=(gone,)
    )
    assert after(before, MANIFEST) == LakeSnapshot(
        number=3, offsets=SNAPSHOT.offsets | {2: "5-5"}, missing=4, files=(DATA_FILE,)
    )


def test_size_of_range_is_known_from_entry_ids() -> None:
    assert [span.size for span in MANIFEST.ranges] == [10, 5]
