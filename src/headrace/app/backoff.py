"""How long a job waits before it is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass

from headrace.engine.check import LONGEST_MS, number
from headrace.errors import InvalidArgument

LONGEST = LONGEST_MS / 1000


@dataclass(frozen=True, slots=True)
class Backoff:
    """The first retry after `first` seconds, each further one `factor` times later, at most `most`.

    Of each wait a share of up to `jitter` is left to chance, so that what failed together does not
    come back together.
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
            raise InvalidArgument(f"jitter of a Backoff is a share from 0 to 1, not {self.jitter}")

    def seconds(self, retry: int) -> float:
        """The wait before this retry, from 1 on."""
        try:
            wait = min(self.most, self.first * self.factor ** (retry - 1))
        except OverflowError:
            wait = self.most
        return wait * (1 - self.jitter * random.random())  # noqa: S311 - only spreads the load
