"""A lake: files of events, and the chain of manifests that says which of them count."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterable, Iterator
from typing import Self

from headrace.errors import HeadraceError, InvalidArgument
from headrace.lake.files import Files
from headrace.lake.manifest import (
    START,
    DataFile,
    Identity,
    LakeUnreadable,
    Manifest,
    Snapshot,
    Span,
    after,
    packed,
    unpacked,
)

IDENTITY = "lake.json"
MANIFESTS = "manifests"
CHECKPOINTS = "checkpoints"
EVENTS = "events"

CHECKPOINT_EVERY = 64
"""After so many manifests a snapshot is written down, so that few are read to open a lake."""

CHECKPOINTS_KEPT = 3


class LakeNotFound(HeadraceError):
    """There is no lake at this place."""


class LakeExists(HeadraceError):
    """There is a lake at this place already."""


class LakeMoved(HeadraceError):
    """Somebody else committed first: nothing was committed; begin again from the new snapshot."""


class BatchDropped(HeadraceError):
    """A batch took so long that it was taken for dead: its files are gone."""


class Lake:
    """A lake at a place. Any number of processes may read it, and any may commit."""

    def __init__(self, files: Files, identity: Identity) -> None:
        self.files = files
        self.identity = identity
        self._newest = Snapshot(offsets=dict.fromkeys(range(len(identity.logs)), START))

    @classmethod
    def create(cls, files: Files, namespace: str, logs: Iterable[int]) -> Self:
        """A new lake for the events of a namespace, whose logs were begun at these times."""
        identity = Identity(id=secrets.token_hex(8), namespace=namespace, logs=tuple(logs))
        if not files.create(IDENTITY, packed(identity)):
            raise LakeExists(f"there is a lake in {files} already")
        return cls(files, identity)

    @classmethod
    def open(cls, files: Files) -> Self:
        """The lake that is there."""
        try:
            text = files.read(IDENTITY)
        except FileNotFoundError:
            raise LakeNotFound(
                f"there is no lake in {files}: headrace lake sync makes one"
            ) from None
        return cls(files, unpacked(Identity, IDENTITY, text))

    def snapshot(self) -> Snapshot:
        """What the lake holds now."""
        found = self._newest
        if self._has(found.number + CHECKPOINT_EVERY):
            found = self._checkpoint(found)
        for manifest in self.manifests(found.number):
            found = after(found, manifest)
        self._newest = found
        return found

    def manifests(self, beyond: int = 0) -> Iterator[Manifest]:
        """The manifests that came after the one of this number, in their order."""
        number = beyond + 1
        while True:
            path = manifest_path(number)
            try:
                text = self.files.read(path)
            except FileNotFoundError:
                return
            yield unpacked(Manifest, path, text)
            number += 1

    def commit(
        self,
        base: Snapshot,
        batch: str,
        *,
        spans: Iterable[Span] = (),
        added: Iterable[DataFile] = (),
        removed: Iterable[str] = (),
        dropped: Iterable[str] = (),
    ) -> Snapshot:
        """Makes files count, or no longer count, all at once; raises LakeMoved if base is not the
        newest snapshot, and BatchDropped if the batch was taken for dead.
        """
        manifest = Manifest(
            number=base.number + 1,
            batch=batch,
            at=dt.datetime.now(dt.UTC),
            spans=tuple(spans),
            added=tuple(added),
            removed=tuple(removed),
            dropped=tuple(dropped),
        )
        _check(base, manifest)
        if not self.files.create(manifest_path(manifest.number), packed(manifest)):
            raise LakeMoved(
                f"another writer has committed manifest {manifest.number} of the lake in "
                f"{self.files}: begin again from the new snapshot"
            )
        self._newest = after(base, manifest)
        if manifest.number % CHECKPOINT_EVERY == 0:
            self._write_checkpoint(self._newest)
        return self._newest

    def _has(self, number: int) -> bool:
        try:
            self.files.read(manifest_path(number))
        except FileNotFoundError:
            return False
        return True

    def _checkpoint(self, found: Snapshot) -> Snapshot:
        for number, path in reversed(self._checkpoints()):
            if number <= found.number:
                break
            try:
                return unpacked(Snapshot, path, self.files.read(path))
            except FileNotFoundError:
                # A writer removes old ones.
                continue
        return found

    def _checkpoints(self) -> list[tuple[int, str]]:
        return [(_number(found.path), found.path) for found in self.files.list(CHECKPOINTS)]

    def _write_checkpoint(self, snapshot: Snapshot) -> None:
        self.files.create(f"{CHECKPOINTS}/{snapshot.number:020}.json", packed(snapshot))
        for _, path in self._checkpoints()[:-CHECKPOINTS_KEPT]:
            self.files.delete(path)


def manifest_path(number: int) -> str:
    """Where the manifest of this number is."""
    return f"{MANIFESTS}/{number:020}.json"


def _number(path: str) -> int:
    try:
        return int(path.rpartition("/")[2].removesuffix(".json"))
    except ValueError:
        raise LakeUnreadable(f"{path} is not what Headrace writes there: remove it") from None


def _check(base: Snapshot, manifest: Manifest) -> None:
    if manifest.batch in base.dropped:
        raise BatchDropped(
            f"the batch {manifest.batch} took so long that it was taken for dead, and its files "
            "were removed: nothing was committed; run it again"
        )
    for span in manifest.spans:
        begins = base.offsets.get(span.shard, START)
        if span.after != begins:
            raise InvalidArgument(
                f"the lake has shard {span.shard} up to {begins}, so that nothing can be added "
                f"that begins after {span.after}"
            )
    foreign = set(manifest.removed) - {file.path for file in base.files}
    if foreign:
        raise InvalidArgument(f"{min(foreign)!r} is not in the lake and cannot be removed from it")
