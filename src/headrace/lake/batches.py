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
    """Removes what dead batches have left, and returns their names. Also what was replaced, but
    not before the grace that was given when it was.
    """
    latest = time.time() - older_than
    notes = lake.files.list(BEGUN)
    dead = _dropped(lake, [_batch(found.path) for found in notes if found.written <= latest])
    for batch in dead:
        lake.files.delete(folder_of(batch))
        end(lake, batch)
    for batch in {_batch(found.path) for found in notes} - set(dead):
        _delete_replaced(lake, batch, max(older_than, _read_note(lake, batch).grace))
    for found in lake.files.list(MAKING):
        if found.written <= latest:
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


def delete_replaced(lake: Lake, grace: float) -> list[str]:
    """Deletes files that were replaced so many seconds ago, and returns their paths.

    Whoever read an older snapshot has had that long to be done with it.
    """
    batches = [_batch(found.path) for found in lake.files.list(BEGUN)]
    return [path for batch in batches for path in _delete_replaced(lake, batch, grace)]


def _delete_replaced(lake: Lake, batch: str, grace: float) -> Sequence[str]:
    manifest = _committed(lake, batch)
    if manifest is None or manifest.at > dt.datetime.now(dt.UTC) - dt.timedelta(seconds=grace):
        return ()
    for path in manifest.removed:
        lake.files.delete(path)
    end(lake, batch)
    return manifest.removed


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
