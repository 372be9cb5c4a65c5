"""Batches: files that are written together. Until a manifest names them they do not count."""

from __future__ import annotations

import datetime as dt
import secrets
import time
from collections.abc import Sequence

from headrace.lake.files import MAKING
from headrace.lake.lake import EVENTS, Lake
from headrace.lake.manifest import Manifest, Snapshot

BEGUN = "begun"
LEFTOVER = 86_400.0
"""After so many seconds a batch that was begun and not committed is taken for dead."""


def begin(lake: Lake, base: Snapshot) -> str:
    """The name of a new batch, noted down so that what it leaves is found if it dies."""
    batch = f"{base.number + 1:020}-{secrets.token_hex(4)}"
    lake.files.create(_note(batch), b"")
    return batch


def end(lake: Lake, batch: str) -> None:
    """Nothing is left to be cleared away after the batch."""
    lake.files.delete(_note(batch))


def folder_of(batch: str) -> str:
    """Where the files of a batch are."""
    return f"{EVENTS}/batch={batch}"


def sweep(lake: Lake, older_than: float = LEFTOVER) -> list[str]:
    """Removes what dead batches have left, and returns their names. Also what was replaced."""
    swept = []
    latest = time.time() - older_than
    for found in lake.files.list(BEGUN):
        if found.written <= latest:
            batch = _batch(found.path)
            manifest = _committed(lake, batch)
            if manifest is None:
                lake.files.delete(folder_of(batch))
                swept.append(batch)
            _clear(lake, batch, manifest.removed if manifest else ())
    for found in lake.files.list(MAKING):
        if found.written <= latest:
            lake.files.delete(found.path)
    return swept


def delete_replaced(lake: Lake, grace: float) -> list[str]:
    """Deletes files that were replaced so many seconds ago, and returns their paths.

    Whoever read an older snapshot has had that long to be done with it.
    """
    deleted: list[str] = []
    latest = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=grace)
    for found in lake.files.list(BEGUN):
        batch = _batch(found.path)
        manifest = _committed(lake, batch)
        if manifest is not None and manifest.at <= latest:
            deleted += _clear(lake, batch, manifest.removed)
    return deleted


def _clear(lake: Lake, batch: str, replaced: Sequence[str]) -> Sequence[str]:
    for path in replaced:
        lake.files.delete(path)
    end(lake, batch)
    return replaced


def _note(batch: str) -> str:
    return f"{BEGUN}/{batch}"


def _batch(note: str) -> str:
    return note.rpartition("/")[2]


def _committed(lake: Lake, batch: str) -> Manifest | None:
    begun_after = int(batch.partition("-")[0]) - 1
    manifests = lake.manifests(begun_after)
    return next((manifest for manifest in manifests if manifest.batch == batch), None)
