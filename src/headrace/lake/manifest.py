"""Manifests and other JSON files of a lake. Files of earlier Headrace versions can be read."""

from __future__ import annotations

import datetime as dt
from typing import Final, TypeVar

import msgspec

from headrace.engine.events import entry_number
from headrace.errors import HeadraceError

FORMAT: Final = 1
START: Final = "0-0"
"""The offset before the first event of a shard."""


class LakeUnreadable(HeadraceError):
    """A later version of Headrace wrote the lake, or a file of the lake is corrupt."""


class LakeRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base class of the records that a lake stores as JSON."""


class LakeIdentity(LakeRecord, frozen=True):
    """The id and the namespace of a lake.

    `logs` has the time at which the log of each shard was started, in Unix milliseconds.
    """

    id: str
    namespace: str
    logs: tuple[int, ...]


class LogRange(LakeRecord, frozen=True):
    """The events of a shard after the entry `after`, up to and including the entry `to`.

    `missing` is the number of events of the range that were trimmed before sync read them.
    """

    shard: int
    after: str
    to: str
    missing: int = 0

    @property
    def first(self) -> int:
        """The number of the first event."""
        return entry_number(self.after) + 1

    @property
    def last(self) -> int:
        """The number of the last event, or first - 1 if the range is empty."""
        return entry_number(self.to)

    @property
    def size(self) -> int:
        """The number of events in the range."""
        return self.last - self.first + 1


class DataFile(LakeRecord, frozen=True):
    """A Parquet file with the events of one queue on one day. `path` is relative to the lake."""

    path: str
    day: dt.date
    queue: str
    rows: int
    bytes: int


class Manifest(LakeRecord, frozen=True):
    """One commit to a lake. A file is valid until a later manifest removes the file.

    `dropped` lists abandoned batches, which can no longer be committed.
    """

    number: int
    batch: str
    at: dt.datetime
    ranges: tuple[LogRange, ...] = msgspec.field(default=(), name="spans")
    added: tuple[DataFile, ...] = ()
    removed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


class LakeSnapshot(LakeRecord, frozen=True):
    """The content of a lake after a manifest: the valid files, and how far each log was read.

    `offsets` has the id of the last entry that was read from the log of each shard.
    """

    number: int = 0
    offsets: dict[int, str] = {}
    missing: int = 0
    files: tuple[DataFile, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows, including gap rows."""
        return sum(file.rows for file in self.files)

    @property
    def days(self) -> tuple[dt.date, ...]:
        """The days that have events."""
        return tuple(sorted({file.day for file in self.files}))


class _Stamped(LakeRecord, frozen=True):
    format: int


V = TypeVar("V", bound=LakeRecord)

_FORMAT_OF = msgspec.json.Decoder(_Stamped)


def packed(value: LakeRecord) -> bytes:
    """Encode a record as the content of a JSON file."""
    text = msgspec.json.encode({"format": FORMAT} | msgspec.to_builtins(value))
    return msgspec.json.format(text, indent=1) + b"\n"


def unpacked(kind: type[V], path: str, text: bytes) -> V:
    """Decode a record from the content of a JSON file. Raises LakeUnreadable."""
    try:
        version = _FORMAT_OF.decode(text).format
        if version > FORMAT:
            raise LakeUnreadable(
                f"{path} has format {version}, but this version of Headrace reads formats up to "
                f"{FORMAT}: install the version that wrote the file, or a later version"
            )
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise LakeUnreadable(
            f"{path} is corrupt or was not written by Headrace: {error}"
        ) from error


def after(snapshot: LakeSnapshot, manifest: Manifest) -> LakeSnapshot:
    """Return the snapshot that a manifest creates from the previous snapshot."""
    removed = set(manifest.removed)
    kept = snapshot.files
    if removed:
        kept = tuple(file for file in kept if file.path not in removed)
    return LakeSnapshot(
        number=manifest.number,
        offsets=snapshot.offsets | {each.shard: each.to for each in manifest.ranges},
        missing=snapshot.missing + sum(each.missing for each in manifest.ranges),
        files=kept + manifest.added,
        dropped=snapshot.dropped + manifest.dropped,
    )
