"""What the log says of a run: also what tasks have done that died before they could say it."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from headrace.lake.columns import event_columns
from headrace.operations.core import Core
from headrace.operations.event_log import log_ends, read_entries
from headrace.transport.drive import Operation

PAGE = 5000

# The newest entry of each shard's log.
Offsets = list[str]


def newest(core: Core) -> Operation[Offsets]:
    """Where the log ends now."""
    return [ends.newest for ends in (yield from log_ends(core))]


def ends_of(core: Core, workers: str, after: Offsets) -> Operation[Counter[str]]:
    """How many jobs workers whose names begin so have completed, failed and retried since."""
    found: Counter[str] = Counter()
    for shard, offset in enumerate(after):
        seen = offset
        while entries := (yield from read_entries(core, shard, seen, "+", PAGE)):
            found += _counted(event_columns(shard, entries), workers)
            seen = entries[-1][0].decode()
    return found


def _counted(events: pa.RecordBatch, workers: str) -> Counter[str]:
    theirs = events.filter(pc.starts_with(events["worker"], workers))
    kinds = theirs["kind"].value_counts().to_pylist()
    return Counter({kind["values"]: kind["counts"] for kind in kinds})
