"""Batches: files that are being written together. Until a manifest names them they do not count."""

from __future__ import annotations

import secrets
import time

from headrace.lake.files import MAKING
from headrace.lake.lake import EVENTS, Lake
from headrace.lake.manifest import Snapshot

BEGUN = "begun"
LEFTOVER = 86_400.0
"""After so many seconds a batch that was begun and not committed is taken for dead."""


def begin(lake: Lake, base: Snapshot) -> str:
    """The name of a new batch, noted down so that what it leaves is found if it dies."""
    batch = f"{base.number + 1:020}-{secrets.token_hex(4)}"
    lake.files.create(_note(batch), b"")
    return batch


def end(lake: Lake, batch: str) -> None:
    """The batch is committed: there is nothing to be found."""
    lake.files.delete(_note(batch))


def folder_of(batch: str) -> str:
    """Where the files of a batch are."""
    return f"{EVENTS}/batch={batch}"


def sweep(lake: Lake, older_than: float = LEFTOVER) -> list[str]:
    """Removes what dead batches have left, and returns their names."""
    swept = []
    latest = time.time() - older_than
    for found in lake.files.list(BEGUN):
        if found.written <= latest:
            batch = found.path.rpartition("/")[2]
            if not _is_committed(lake, batch):
                lake.files.delete(folder_of(batch))
                swept.append(batch)
            end(lake, batch)
    for found in lake.files.list(MAKING):
        if found.written <= latest:
            lake.files.delete(found.path)
    return swept


def _note(batch: str) -> str:
    return f"{BEGUN}/{batch}"


def _is_committed(lake: Lake, batch: str) -> bool:
    begun_after = int(batch.partition("-")[0]) - 1
    return any(manifest.batch == batch for manifest in lake.manifests(begun_after))
