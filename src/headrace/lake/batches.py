"""Batches: files that are written together. Until a manifest names them they do not count."""

from __future__ import annotations

import datetime as dt
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress

from headrace.lake.files import MAKING
from headrace.lake.lake import EVENTS, Lake, LakeMoved
from headrace.lake.manifest import LakeUnreadable, Manifest, Snapshot, Value, packed, unpacked

BEGUN = "begun"
LEFTOVER = 86_400.0
"""After so many seconds a batch that was begun and not committed is taken for dead."""

GRACE = 3600.0
"""For so many seconds files stay that were replaced: somebody may be reading them."""


class Note(Value, frozen=True):
    """That a batch was begun. grace: for how long what it replaces stays."""

    grace: float = 0.0


def begin(lake: Lake, base: Snapshot, *, grace: float = 0.0) -> str:
    """The name of a new batch, noted down so that what it leaves is found if it dies."""
    batch = f"{base.number + 1:020}-{secrets.token_hex(4)}"
    lake.files.create(_note(batch), packed(Note(grace=grace)))
    return batch


def end(lake: Lake, batch: str) -> None:
    """Nothing is left to be cleared away after the batch."""
    lake.files.delete(_note(batch))


def folder_of(batch: str) -> str:
    """Where the files of a batch are."""
    return f"{EVENTS}/batch={batch}"


def sweep(lake: Lake, older_than: float = LEFTOVER) -> list[str]:
    """Removes what dead batches have left, and returns their names. Also what was replaced."""
    now = time.time()
    notes = [found for found in lake.files.list(BEGUN) if found.written <= now - older_than]
    dead = _dropped(lake, [_batch(found.path) for found in notes])
    for batch in dead:
        lake.files.delete(folder_of(batch))
        end(lake, batch)
    delete_replaced(lake, older_than, at_least=True)
    for found in lake.files.list(MAKING):
        if found.written <= now - older_than:
            lake.files.delete(found.path)
    return dead


def _dropped(lake: Lake, batches: Sequence[str]) -> list[str]:
    """Those that are not committed. A manifest says so: from then on they cannot be."""
    while True:
        base = lake.snapshot()
        dead = [batch for batch in batches if _committed(lake, batch) is None]
        fresh = set(dead) - set(base.dropped)
        if not fresh:
            return dead
        with suppress(LakeMoved):
            lake.commit(base, f"{base.number + 1:020}-sweep", dropped=sorted(fresh))
            return dead


def delete_replaced(lake: Lake, grace: float, *, at_least: bool = False) -> list[str]:
    """Deletes files that were replaced so many seconds ago, and returns their paths; at_least: not
    before the grace that was given when they were.

    Whoever read an older snapshot has had that long to be done with it.
    """
    deleted: list[str] = []
    now = dt.datetime.now(dt.UTC)
    for found in lake.files.list(BEGUN):
        batch = _batch(found.path)
        manifest = _committed(lake, batch)
        if manifest is None:
            continue
        stays = max(grace, _read_note(lake, batch).grace) if at_least else grace
        if manifest.at <= now - dt.timedelta(seconds=stays):
            for path in manifest.removed:
                lake.files.delete(path)
            deleted += manifest.removed
            end(lake, batch)
    return deleted


def _read_note(lake: Lake, batch: str) -> Note:
    path = _note(batch)
    try:
        return unpacked(Note, path, lake.files.read(path))
    except (FileNotFoundError, LakeUnreadable):
        return Note()


def _note(batch: str) -> str:
    return f"{BEGUN}/{batch}"


def _batch(note: str) -> str:
    return note.rpartition("/")[2]


def _committed(lake: Lake, batch: str) -> Manifest | None:
    begun_after = int(batch.partition("-")[0]) - 1
    manifests = lake.manifests(begun_after)
    return next((manifest for manifest in manifests if manifest.batch == batch), None)
