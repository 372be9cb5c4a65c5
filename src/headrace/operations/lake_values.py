"""What clients are told of logs and of the lakes that keep them."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.engine.events import entry_number


@dataclass(frozen=True, slots=True)
class Log:
    """The event log of a shard. Entries are ids, <milliseconds>-<number>; marks are by lake.

    trimmed: events that are no longer there; dropped: those of them that some lake had not.
    """

    shard: int
    oldest: str | None
    newest: str
    trimmed: int
    dropped: int
    begun_ms: int
    marks: dict[str, str]

    @property
    def newest_number(self) -> int:
        """How many events there ever were."""
        return entry_number(self.newest)

    @property
    def oldest_number(self) -> int:
        """The number of the oldest event that is there, or of the next one to come."""
        return entry_number(self.oldest) if self.oldest else self.newest_number + 1


@dataclass(frozen=True, slots=True)
class LakeShard:
    """How far a lake is with the log of a shard: it has all up to an entry, behind are missing.

    trimmed and dropped are of the log: events that are no longer there, and those of them that
    some lake had not.
    """

    lake: str
    shard: int
    entry: str
    behind: int
    trimmed: int
    dropped: int
