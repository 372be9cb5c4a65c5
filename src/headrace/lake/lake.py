"""A lake: files of events, and a chain of manifests that list the valid files."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Self

from headrace.client.client import Client
from headrace.errors import HeadraceError, InvalidArgument, LakeRefused
from headrace.lake.files import Files
from headrace.lake.manifest import (
    START,
    DataFile,
    LakeIdentity,
    LakeSnapshot,
    LakeUnreadable,
    LogRange,
    Manifest,
    after,
    packed,
    unpacked,
)
from headrace.operations.event_log import logs
from headrace.transport.drive import drive

IDENTITY = "lake.json"
MANIFESTS = "manifests"
CHECKPOINTS = "checkpoints"
EVENTS = "events"

CHECKPOINT_EVERY = 64
"""The number of manifests between two checkpoints. A reader starts at the newest checkpoint."""

CHECKPOINTS_KEPT = 3


class LakeNotFound(HeadraceError):
    """There is no lake at this location."""


class LakeExists(HeadraceError):
    """There is already a lake at this location."""


class LakeMoved(HeadraceError):
    """Another writer committed first. Nothing was committed; retry from the new snapshot."""


class BatchDropped(HeadraceError):
    """A batch took so long that it counted as abandoned and its files were removed."""


class Lake:
    """A lake. Any number of processes may read the lake and commit to the lake."""

    def __init__(self, files: Files, identity: LakeIdentity) -> None:
        self.files = files
        self.identity = identity
        self._newest = LakeSnapshot(offsets=dict.fromkeys(range(len(identity.logs)), START))

    @classmethod
    def create(cls, files: Files, namespace: str, logs: Iterable[int]) -> Self:
        """Create a lake for a namespace. Raises LakeExists if there is already a lake.

        `logs` has the time at which the log of each shard was started, in Unix milliseconds.
        """
        identity = LakeIdentity(id=secrets.token_hex(8), namespace=namespace, logs=tuple(logs))
        if not files.create(IDENTITY, packed(identity)):
            raise LakeExists(f"there is already a lake in {files}")
        return cls(files, identity)

    @classmethod
    def open(cls, files: Files) -> Self:
        """Open an existing lake. Raises LakeNotFound if the lake does not exist."""
        try:
            text = files.read(IDENTITY)
        except FileNotFoundError:
            raise LakeNotFound(
                f"there is no lake in {files}: create one with headrace lake sync"
            ) from None
        return cls(files, unpacked(LakeIdentity, IDENTITY, text))

    def snapshot(self) -> LakeSnapshot:
        """Return the newest snapshot."""
        found = self._newest
        if self._has(found.number + CHECKPOINT_EVERY):
            found = self._checkpoint(found)
        for manifest in self.manifests(found.number):
            found = after(found, manifest)
        self._newest = found
        return found

    def manifests(self, beyond: int = 0) -> Iterator[Manifest]:
        """Yield the manifests with a number above `beyond`, in order."""
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
        base: LakeSnapshot,
        batch: str,
        *,
        ranges: Iterable[LogRange] = (),
        added: Iterable[DataFile] = (),
        removed: Iterable[str] = (),
        dropped: Iterable[str] = (),
    ) -> LakeSnapshot:
        """Add and remove files in one atomic step, and return the new snapshot.

        Raises LakeMoved if `base` is not the newest snapshot, and BatchDropped if the batch counts
        as abandoned.
        """
        manifest = Manifest(
            number=base.number + 1,
            batch=batch,
            at=dt.datetime.now(dt.UTC),
            ranges=tuple(ranges),
            added=tuple(added),
            removed=tuple(removed),
            dropped=tuple(dropped),
        )
        _check(base, manifest)
        if not self.files.create(manifest_path(manifest.number), packed(manifest)):
            raise LakeMoved(
                f"another writer committed manifest {manifest.number} of the lake in "
                f"{self.files} first; retry from the new snapshot"
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

    def _checkpoint(self, found: LakeSnapshot) -> LakeSnapshot:
        for number, path in reversed(self._checkpoints()):
            if number <= found.number:
                break
            try:
                return unpacked(LakeSnapshot, path, self.files.read(path))
            except FileNotFoundError:
                # A writer deleted this old checkpoint.
                continue
        return found

    def _checkpoints(self) -> list[tuple[int, str]]:
        return [(_number(found.path), found.path) for found in self.files.list(CHECKPOINTS)]

    def _write_checkpoint(self, snapshot: LakeSnapshot) -> None:
        self.files.create(f"{CHECKPOINTS}/{snapshot.number:020}.json", packed(snapshot))
        for _, path in self._checkpoints()[:-CHECKPOINTS_KEPT]:
            self.files.delete(path)


def open_lake(files: Files, client: Client) -> Lake:
    """Open or create the lake in these files, for the namespace of the client.

    Raises LakeRefused if the lake belongs to another namespace or server.
    """
    lake = _open_or_create(files, client.core.namespace, _started(client))
    check_owner(lake, client)
    return lake


def check_owner(lake: Lake, client: Client) -> None:
    """Raise LakeRefused if the lake does not belong to the namespace of the client."""
    namespace = client.core.namespace
    if lake.identity.namespace != namespace:
        raise LakeRefused(
            lake.identity.id,
            f"the lake in {lake.files} has the events of namespace {lake.identity.namespace!r}, "
            f"not of {namespace!r}: use a separate lake for each namespace",
        )
    if lake.identity.logs != _started(client):
        raise LakeRefused(
            lake.identity.id,
            f"the lake in {lake.files} has the events of another server, or of namespace "
            f"{namespace!r} before the namespace was deleted and recreated: use a new lake",
        )


def _started(client: Client) -> tuple[int, ...]:
    return tuple(log.begun_ms for log in drive(client.core.transport, logs(client.core)))


def _open_or_create(files: Files, namespace: str, started: tuple[int, ...]) -> Lake:
    with suppress(LakeNotFound):
        return Lake.open(files)
    with suppress(LakeExists):
        return Lake.create(files, namespace, started)
    return Lake.open(files)


def manifest_path(number: int) -> str:
    """Return the path of a manifest."""
    return f"{MANIFESTS}/{number:020}.json"


def _number(path: str) -> int:
    try:
        return int(path.rpartition("/")[2].removesuffix(".json"))
    except ValueError:
        raise LakeUnreadable(f"{path} was not written by Headrace: remove the file") from None


def _check(base: LakeSnapshot, manifest: Manifest) -> None:
    if manifest.batch in base.dropped:
        raise BatchDropped(
            f"batch {manifest.batch} took so long that it counted as abandoned and its files were "
            "removed; nothing was committed, so run the command again"
        )
    for each in manifest.ranges:
        begins = base.offsets.get(each.shard, START)
        if each.after != begins:
            raise InvalidArgument(
                f"the lake has the events of shard {each.shard} up to {begins}; new events must "
                f"begin after that entry, not after {each.after}"
            )
    foreign = set(manifest.removed) - {file.path for file in base.files}
    if foreign:
        raise InvalidArgument(f"{min(foreign)!r} is not in the lake, so it cannot be removed")
