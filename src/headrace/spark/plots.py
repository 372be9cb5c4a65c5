"""Draw finished attempts over time, and waiting times, as an image file or as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import plotext
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.engine.statistics import BINS
from headrace.errors import HeadraceError

# For each outcome of an attempt: the colour in an image file, the character on a terminal, and the
# colour on a terminal.
OUTCOMES = {
    "completed": ("#2a9d8f", "█", "green"),
    "retried": ("#e9c46a", "▒", "yellow"),
    "released": ("#8ab6d6", "░", "blue"),
    "lost": ("#6d597a", "x", "magenta"),
    "failed": ("#d1495b", "#", "red"),
    "cancelled": ("#8d99ae", "-", "white"),
    "taken": ("#b5838d", "+", "cyan"),
}
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400)
MOST_STEPS = 60
WIDTH, HEIGHT = 68, 13
_ROUND = [digit * 10**zeros for zeros in range(12) for digit in (1, 2, 5)]
UNITS = {"s": "s", "m": "min", "q": "/4 h", "h": "h", "d": "days"}


class NothingToDraw(HeadraceError):
    """There is nothing to draw, because no attempt has ended yet."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The data of a plot: finished attempts by outcome and time step, and waiting times."""

    begins: datetime
    step: int
    ended: Mapping[str, Sequence[int]]
    waits: Sequence[tuple[str, int]]

    @property
    def steps(self) -> int:
        """The number of time steps."""
        return len(next(iter(self.ended.values())))

    @property
    def title(self) -> str:
        """The title of the plot."""
        return f"attempts that ended, per {_duration(self.step)}"


def picture(attempts: DataFrame, daily: DataFrame) -> Picture:
    """Compute the data of a plot from the tables `attempts` and `daily`.

    Raises NothingToDraw if no attempt has ended.
    """
    second = F.unix_seconds("ended")
    over = attempts.where(F.col("outcome").isin(*OUTCOMES))
    first, last = over.agg(F.min(second), F.max(second)).first() or (None, None)
    if first is None or last is None:
        raise NothingToDraw("there is nothing to draw: no attempt has ended yet")
    step = step_for(last - first)
    begins = first // step * step
    at = F.floor((second - begins) / step)
    rows = over.groupBy("outcome", at.alias("at")).count().collect()
    counts = {(row["outcome"], row["at"]): row["count"] for row in rows}
    steps = range((last - begins) // step + 1)
    outcomes = [name for name in OUTCOMES if any(name == row["outcome"] for row in rows)]
    ended = {name: [counts.get((name, at), 0) for at in steps] for name in outcomes}
    return Picture(datetime.fromtimestamp(begins, UTC), step, ended, _waits(daily))


def _waits(daily: DataFrame) -> list[tuple[str, int]]:
    rows = (
        daily.where("by = 'all'")
        .select(F.explode("wait_histogram").alias("bin", "count"))
        .groupBy("bin")
        .agg(F.sum("count").alias("count"))
        .collect()
    )
    counts = {row["bin"]: row["count"] for row in rows}
    filled = [at for at, name in enumerate(BINS) if name in counts]
    return [(name, counts.get(name, 0)) for name in BINS[filled[0] : filled[-1] + 1]]


def step_for(seconds: int) -> int:
    """Return the step, in seconds, that divides a plot of this duration into at most 60 steps."""
    return next((step for step in STEPS if seconds < step * MOST_STEPS), -(-seconds // MOST_STEPS))


def save(drawn: Picture, path: Path) -> None:
    """Write the plot to a file. The suffix of the path, such as .png or .svg, sets the format."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    above, below = figure.subplots(2, 1)
    times = [drawn.begins + timedelta(seconds=drawn.step * at) for at in range(drawn.steps)]
    height = [0] * drawn.steps
    for name, counts in drawn.ended.items():
        width = timedelta(seconds=drawn.step)
        above.bar(
            times, counts, width, bottom=height, align="edge", color=OUTCOMES[name][0], label=name
        )
        height = [under + count for under, count in zip(height, counts, strict=True)]
    locator = AutoDateLocator()
    above.xaxis.set_major_locator(locator)
    above.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    above.set_title(drawn.title)
    above.legend()
    names = [f"{name[1:]} {UNITS[name[0]]}" for name, _ in drawn.waits]
    below.bar(names, [count for _, count in drawn.waits], 1, align="edge", color="#457b9d")
    below.set_xticks(range(0, len(names), -(-len(names) // 12) or 1))
    below.set_title("deliveries by waiting time of the job")
    figure.savefig(path, dpi=110)


def text(drawn: Picture, width: int = WIDTH, height: int = HEIGHT) -> str:
    """Return a plot of the finished attempts over time, as text with terminal colours."""
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, height)
    letters = {name: OUTCOMES[name][1:] for name in drawn.ended}
    bars = figure.bar(
        list(range(drawn.steps)),
        [list(counts) for counts in drawn.ended.values()],
        stacked=True,
        width=1,
        marker=[plotext.marker(*letter) for letter in letters.values()],
    )
    figure.draw(bars)
    most = max(map(sum, zip(*drawn.ended.values(), strict=True)))
    counts = _round_numbers(most, height // 3)
    figure.ruler("y").ticks(counts, [f"{count:,}" for count in counts])
    places = _round_numbers(drawn.steps - 1, width // 8)
    figure.ruler("x").ticks(places, [f"{place * drawn.step:,} s" for place in places])
    legend = "  ".join(f"{letter} {name}" for name, (letter, _) in letters.items())
    return f"{str(figure.build()).rstrip()}\n{legend}"


def _round_numbers(most: int, count: int) -> list[int]:
    """Return about `count` round numbers from 0 to `most`."""
    step = next(step for step in _ROUND if most / step <= count)
    return list(range(0, most + 1, step))


def _duration(seconds: int) -> str:
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        count, rest = divmod(seconds, unit)
        if count and not rest:
            return name if count == 1 else f"{count} {name}s"
    return f"{seconds} seconds"
