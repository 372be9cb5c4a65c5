"""Statistics of a queue on one day: waiting and running times, with histograms and quantiles.

The bins of a histogram are one second, one minute, 15 minutes, one hour or one day long. A bin is
named by its unit and number: `m2` counts durations from 2 to 3 minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

# For each unit: the length of a bin in seconds, and the numbers of the bins. The server has the
# same bins; see lib/core/statistics.lua.
BIN_UNITS = {
    "s": (1, range(60)),
    "m": (60, range(1, 60)),
    "q": (900, range(4, 96)),
    "h": (3600, range(24, 72)),
    "d": (86_400, range(3, 367)),
}
BINS = [f"{unit}{number}" for unit, (_, numbers) in BIN_UNITS.items() for number in numbers]

_DAY_BINS_FROM = BINS.index("d3")


@dataclass(frozen=True, slots=True)
class Series:
    """Waiting or running times in seconds."""

    count: int
    mean: float
    variance: float
    bins: Mapping[str, int]

    @property
    def std(self) -> float:
        """The standard deviation."""
        return float(self.variance**0.5)

    @property
    def histogram(self) -> list[int]:
        """The counts in bins of a second, a minute, 15 minutes, an hour and a day.

        The sum of the counts equals `count`. The list ends with the last hour bin, or with the last
        day that has a value.
        """
        counts = [self.bins.get(name, 0) for name in BINS]
        while len(counts) > _DAY_BINS_FROM and counts[-1] == 0:
            counts.pop()
        return counts

    @property
    def coarse_histogram(self) -> list[int]:
        """The counts in 148 bins: 60 seconds, 59 minutes, 23 hours, 6 days.

        The last bin also counts all longer durations.
        """
        counts = [0] * 148
        for name, times in self.bins.items():
            counts[_coarse(name[0], int(name[1:]))] += times
        return counts


def _coarse(unit: str, position: int) -> int:
    if unit == "s":
        return position
    if unit == "m":
        return 59 + position
    hours = {"q": position // 4, "h": position, "d": position * 24}[unit]
    if hours < 24:
        return 118 + hours
    return 141 + min(6, hours // 24)


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of a queue on one UTC day. `failed` is the current number of failed jobs."""

    queue: str
    day: date
    wait: Series
    run: Series
    failed: int
    failures: int
    retries: int


def merged(parts: Iterable[Series]) -> Series:
    """Merge the series of several shards into one."""
    count, mean, squares = 0, 0.0, 0.0
    bins: dict[str, int] = {}
    for part in parts:
        if part.count:
            total = count + part.count
            apart = part.mean - mean
            squares += part.variance * (part.count - 1) + apart**2 * count * part.count / total
            mean += apart * part.count / total
            count = total
        for name, times in part.bins.items():
            bins[name] = bins.get(name, 0) + times
    return Series(count, mean, squares / (count - 1) if count > 1 else 0.0, bins)


def bin_name(seconds: int) -> str:
    """Return the name of the bin that counts a duration in whole seconds.

    The last bin has no upper end.
    """
    for unit, (length, numbers) in BIN_UNITS.items():
        if seconds // length < numbers.stop:
            return f"{unit}{seconds // length}"
    return BINS[-1]


def bin_bounds(name: str) -> tuple[int, int]:
    """Return the first second of a bin, and the first second after the bin."""
    (seconds, _), number = BIN_UNITS[name[0]], int(name[1:])
    return seconds * number, seconds * (number + 1)


def quantile(bins: Mapping[str, int], share: float) -> tuple[int, int] | None:
    """Return the edges of the bin that contains a quantile, or None for an empty histogram."""
    needed = share * sum(bins.values())
    for edges, count in sorted((bin_bounds(name), count) for name, count in bins.items() if count):
        needed -= count
        if needed <= 0:
            return edges
    return None


def read_series(name: str, summary: Mapping[str, str], bins: Mapping[str, str]) -> Series:
    """Read a series that the server stores in milliseconds."""
    count = int(summary.get(f"{name}:count", 0))
    squares = float(summary.get(f"{name}:vk", 0.0))
    return Series(
        count=count,
        mean=float(summary.get(f"{name}:mean", 0.0)) / 1000,
        variance=squares / (count - 1) / 1e6 if count > 1 else 0.0,
        bins={
            key.removeprefix(f"{name}:"): int(times)
            for key, times in bins.items()
            if key.startswith(f"{name}:")
        },
    )
