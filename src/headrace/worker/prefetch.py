"""How many jobs a worker holds: more than it runs only where they end quickly."""

from __future__ import annotations

# What is held beyond what runs is to be begun within this time, so that nothing slow is hoarded.
HORIZON = 0.02
MOST = 500
QUICKEST = 1e-6
# A trip for some hundred jobs takes about as many seconds.
A_TRIP = 0.002
# The weight of the newest job in the mean.
NEWEST = 0.02


class Prefetch:
    """Learns how long jobs take."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._mean: float | None = None

    def ended(self, seconds: float) -> None:
        """A job took so long."""
        mean = self._mean
        # A slow job counts at once, a quick one by and by: hoarding is worse than asking often.
        if mean is None or seconds > mean:
            self._mean = seconds if mean is None else mean + (seconds - mean) * 10 * NEWEST
        else:
            self._mean = mean + (seconds - mean) * NEWEST

    def stuck(self, seconds: float) -> None:
        """For so long no job was begun, because none has ended."""
        self._mean = max(self._mean or 0.0, seconds)

    def capacity(self) -> int:
        """How many jobs may be held in all."""
        concurrency, mean = self._concurrency, self._mean
        if mean is None:
            return concurrency
        return concurrency + int(min(MOST, concurrency * HORIZON / max(mean, QUICKEST)))

    def at_once(self) -> int:
        """How many to ask for in one trip: where jobs outlast it, those that can be begun now are
        not to wait for those that cannot.
        """
        if self._mean is None or self._mean < A_TRIP:
            return MOST
        return min(MOST, self._concurrency)
