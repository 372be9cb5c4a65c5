"""Start and end batches of files, and remove abandoned batches and replaced files.

A file is invalid until a manifest lists the file.
"""

from __future__ import annotations

import datetime as dt
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress

from headrace.lake.files import MAKING
from headrace.lake.lake import EVENTS, Lake, LakeMoved
from headrace.lake.manifest import (
    LakeRecord,
    LakeSnapshot,
    LakeUnreadable,
    Manifest,
    packed,
    unpacked,
)

BEGUN = "begun"
"""The folder with one note for each batch that was started."""

LEFTOVER = 86_400.0
"""The age in seconds after which an uncommitted batch counts as abandoned."""


class BatchNote(LakeRecord, frozen=True):
    """A record in the lake that a batch was started.

    `grace` is the number of seconds to keep the files that the batch replaces.
    """

    grace: float = 0.0


def begin(lake: Lake, base: LakeSnapshot, *, grace: float = 0.0) -> str:
    """Start a batch and return its name.

    This function writes a note, so that sweep finds the files of the batch if the process dies.
    """
    batch = f"{base.number + 1:020}-{secrets.token_hex(4)}"
    lake.files.create(_note(batch), packed(BatchNote(grace=grace)))
    return batch


def end(lake: Lake, batch: str) -> None:
    """Delete the note of a batch, so that sweep no longer checks the batch."""
    lake.files.delete(_note(batch))


def folder_of(batch: str) -> str:
    """Return the folder with the files of a batch."""
    return f"{EVENTS}/batch={batch}"


def sweep(lake: Lake, older_than: float = LEFTOVER) -> list[str]:
    """Remove the files of abandoned batches, and return the names of these batches.

    Also remove files that a committed batch replaced. These files are kept for the grace period of
    that batch, and for at least `older_than` seconds.
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
    """Commit a manifest that lists the uncommitted batches as dropped; return these batches."""
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
    """Delete files that were replaced more than `grace` seconds ago, and return their paths.

    During these seconds, a reader of an older snapshot can still read the replaced files.
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


def _read_note(lake: Lake, batch: str) -> BatchNote:
    path = _note(batch)
    try:
        return unpacked(BatchNote, path, lake.files.read(path))
    except (FileNotFoundError, LakeUnreadable):
        return BatchNote()


def _note(batch: str) -> str:
    return f"{BEGUN}/{batch}"


def _batch(note: str) -> str:
    return note.rpartition("/")[2]


def _committed(lake: Lake, batch: str) -> Manifest | None:
    begun_after = int(batch.partition("-")[0]) - 1
    manifests = lake.manifests(begun_after)
    return next((manifest for manifest in manifests if manifest.batch == batch), None)
