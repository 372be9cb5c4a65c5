"""What was done, in numbers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self


@dataclass(slots=True)
class Tally:
    """How many jobs became what.

    Where tasks have died, completed, failed and retried are counted from the log, so that those of
    the dead are among them, as far as it was not trimmed meanwhile; released, refused, batches and
    tasks are then of those that came to their end, of the last round.
    """

    completed: int = 0
    """Went well, also those that moved on."""
    failed: int = 0
    """Set aside, also because tasks died with them."""
    retried: int = 0
    """Failed, and will be tried again."""
    released: int = 0
    """Given back for a time, by Snooze."""
    refused: int = 0
    """Were no longer ours when their end was told: somebody else has them, or nobody wants them."""
    batches: int = 0
    tasks: int = 0
    deaths: int = 0
    """Tasks that died and were begun again."""
    seconds: float = 0.0

    def __add__(self, other: Self) -> Self:
        return type(self)(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )
