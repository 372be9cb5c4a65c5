"""How long a failed job waits before its next attempt.

Internal: import Backoff from `headrace`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from headrace.engine.check import LONGEST_MS, number
from headrace.errors import InvalidArgument

LONGEST = LONGEST_MS / 1000


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff: wait `first` seconds, then multiply the wait by `factor` for each retry.

    No wait is longer than `most` seconds. Each wait is reduced by a random fraction of up to
    `jitter`. Jobs that failed at the same time are therefore retried at different times. Raises
    InvalidArgument if a value is negative or too large.

    >>> backoff = Backoff(first=1, factor=3, most=20, jitter=0)
    >>> [backoff.seconds(retry) for retry in (1, 2, 3, 4)]
    [1.0, 3.0, 9.0, 20.0]
    """

    first: float = 1.0
    factor: float = 2.0
    most: float = 3600.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        for name in ("first", "factor", "most", "jitter"):
            if not 0 <= number(name, getattr(self, name)) <= LONGEST:
                raise InvalidArgument(f"{name} of a Backoff must be from 0 to {LONGEST:.0f}")
        if self.jitter > 1:
            raise InvalidArgument(f"jitter of a Backoff must be from 0 to 1, not {self.jitter}")

    def seconds(self, retry: int) -> float:
        """Return the wait before a retry, in seconds; the first retry is number 1."""
        try:
            wait = min(self.most, self.first * self.factor ** (retry - 1))
        except OverflowError:
            wait = self.most
        return wait * (1 - self.jitter * random.random())  # noqa: S311 - only spreads the load
