"""The counts of a run: reported by its tasks, or read from the event log if tasks died."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from headrace.lake.event_columns import event_columns
from headrace.operations.core import Core
from headrace.operations.event_log import log_ends, read_entries
from headrace.transport.drive import Operation

PAGE = 5000

# The newest entry of each shard's log.
NewestEntries = list[str]


@dataclass(slots=True)
class WorkCounts:
    """How many jobs a run processed, by outcome.

    If tasks died, completed, failed and retried are counted from the event log, so that they
    include the jobs of dead tasks, unless their events were trimmed. released, refused, batches and
    tasks then count only the tasks of the last round, which ended normally.
    """

    completed: int = 0
    """Succeeded, including jobs that moved to another queue."""
    failed: int = 0
    """Failed permanently, including jobs that killed their task too often."""
    retried: int = 0
    """Failed, to be retried."""
    released: int = 0
    """Returned to the queue for a while, by Snooze."""
    refused: int = 0
    """The lease was lost before the outcome was sent: the job was reclaimed or cancelled."""
    batches: int = 0
    tasks: int = 0
    deaths: int = 0
    """Tasks that died and were started again."""
    seconds: float = 0.0

    def __add__(self, other: Self) -> Self:
        return type(self)(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )


def newest_entries(core: Core) -> Operation[NewestEntries]:
    """Return the end of the log of each shard."""
    return [ends.newest for ends in (yield from log_ends(core))]


def count_from_log(core: Core, workers: str, after: NewestEntries) -> Operation[Counter[str]]:
    """Count the events by kind since then, of workers whose names start with `workers`."""
    found: Counter[str] = Counter()
    for shard, start in enumerate(after):
        seen = start
        while entries := (yield from read_entries(core, shard, seen, "+", PAGE)):
            found += _by_kind(event_columns(shard, entries), workers)
            seen = entries[-1][0].decode()
    return found


def _by_kind(events: pa.RecordBatch, workers: str) -> Counter[str]:
    theirs = events.filter(pc.starts_with(events["worker"], workers))
    kinds = theirs["kind"].value_counts().to_pylist()
    return Counter({kind["values"]: kind["counts"] for kind in kinds})
