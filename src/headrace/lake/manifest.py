"""Manifests: what stands in a lake beside events. What one version wrote, all later ones read."""

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
    """The lake was written by a later version of Headrace, or a file of it is broken."""


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stands in a lake as JSON."""


class Identity(Value, frozen=True):
    """Which lake this is, and whose events it has. logs: when the log of each shard was begun."""

    id: str
    namespace: str
    logs: tuple[int, ...]


class Span(Value, frozen=True):
    """The events of a shard after one entry, up to and with another. missing: gone unread."""

    shard: int
    after: str
    to: str
    missing: int = 0

    @property
    def numbers(self) -> int:
        """How many events happened in the span."""
        return entry_number(self.to) - entry_number(self.after)


class DataFile(Value, frozen=True):
    """A Parquet file with events of one day and one queue; its path from the root of the lake."""

    path: str
    day: dt.date
    queue: str
    rows: int
    bytes: int


class Manifest(Value, frozen=True):
    """One commit. A file counts from the manifest that adds it to the one that removes it.

    dropped: batches that were taken for dead and can no longer be committed.
    """

    number: int
    batch: str
    at: dt.datetime
    spans: tuple[Span, ...] = ()
    added: tuple[DataFile, ...] = ()
    removed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


class Snapshot(Value, frozen=True):
    """What a lake holds after a manifest: how far it has read each shard, and its files."""

    number: int = 0
    offsets: dict[int, str] = {}
    missing: int = 0
    files: tuple[DataFile, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows there are, those of gaps included."""
        return sum(file.rows for file in self.files)

    @property
    def days(self) -> tuple[dt.date, ...]:
        """The days of which there are events."""
        return tuple(sorted({file.day for file in self.files}))


class _Stamped(Value, frozen=True):
    format: int


V = TypeVar("V", bound=Value)

_FORMAT_OF = msgspec.json.Decoder(_Stamped)


def packed(value: Value) -> bytes:
    """A value as the text of a file."""
    text = msgspec.json.encode({"format": FORMAT} | msgspec.to_builtins(value))
    return msgspec.json.format(text, indent=1) + b"\n"


def unpacked(kind: type[V], path: str, text: bytes) -> V:
    """The value in the text of a file."""
    try:
        version = _FORMAT_OF.decode(text).format
        if version > FORMAT:
            raise LakeUnreadable(
                f"{path} has format {version}, and this version of Headrace reads up to {FORMAT}: "
                "install the version that wrote it, or a later one"
            )
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise LakeUnreadable(f"{path} is not what Headrace writes there: {error}") from error


def after(snapshot: Snapshot, manifest: Manifest) -> Snapshot:
    """What the lake holds after one more manifest."""
    removed = set(manifest.removed)
    kept = snapshot.files
    if removed:
        kept = tuple(file for file in kept if file.path not in removed)
    return Snapshot(
        number=manifest.number,
        offsets=snapshot.offsets | {span.shard: span.to for span in manifest.spans},
        missing=snapshot.missing + sum(span.missing for span in manifest.spans),
        files=kept + manifest.added,
        dropped=snapshot.dropped + manifest.dropped,
    )
