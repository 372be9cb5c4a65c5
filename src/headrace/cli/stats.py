"""`stats`: how long the jobs of a queue waited and ran on a day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.opening import existing, opened
from headrace.cli.options import Namespace, Queue, Url
from headrace.cli.show import AsJson, as_line, heading, pairs
from headrace.cli.words import counted, span

if TYPE_CHECKING:
    from headrace import Stats
    from headrace.engine.statistics import Series

_UNIT_SECONDS = {"s": 1, "m": 60, "q": 900, "h": 3600, "d": 86_400}
# Where the bars of the drawn histogram begin, in seconds.
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_EDGES = (
    *(0, 1, 2, 5, 10, 20, 30),
    *(_MINUTE * number for number in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * number for number in (1, 2, 4, 8, 12)),
    *(_DAY * number for number in (1, 2, 3, 7, 30)),
)
QUANTILES = (0.5, 0.9, 0.99)
BAR = 40


def stats(
    queue: Queue,
    day: Annotated[
        str | None, typer.Argument(metavar="DAY", help="As 2026-11-15, in UTC; else today.")
    ] = None,
    *,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Show how long the jobs of a queue waited and ran on a day."""
    with opened(url, namespace) as client:
        found = existing(client, queue).stats(day)
    if as_json:
        typer.echo(as_line(_facts(found)))
        return
    pairs(
        (
            ("queue", found.queue),
            ("day", found.day),
            ("failures", f"{found.failures:,}"),
            ("retries", f"{found.retries:,}"),
            ("failed now", f"{found.failed:,}"),
        )
    )
    for name, series in (("waiting", found.wait), ("running", found.run)):
        heading(f"{name} time of {counted(series.count, 'job')}")
        for line in _drawn(series):
            typer.echo(line)


def _facts(found: Stats) -> dict[str, Any]:
    return {
        "queue": found.queue,
        "day": found.day,
        "failures": found.failures,
        "retries": found.retries,
        "failed": found.failed,
        **{
            name: {
                "count": series.count,
                "mean": series.mean,
                "std": series.std,
                "quantiles": {str(share): quantile(series.bins, share) for share in QUANTILES},
                "bins": dict(series.bins),
            }
            for name, series in (("wait", found.wait), ("run", found.run))
        },
    }


def edges(bin_name: str) -> tuple[int, int]:
    """From where to where a bin goes, in seconds."""
    unit, number = _UNIT_SECONDS[bin_name[0]], int(bin_name[1:])
    return unit * number, unit * (number + 1)


def quantile(bins: Mapping[str, int], share: float) -> tuple[int, int] | None:
    """From where to where the bin goes in which this share of the values is reached."""
    ranked = sorted((edges(name), times) for name, times in bins.items())
    needed = share * sum(times for _, times in ranked)
    for bounds, times in ranked:
        needed -= times
        if needed <= 0:
            return bounds
    return None


def _drawn(series: Series) -> Iterator[str]:
    if not series.count:
        yield "  nothing on this day"
        return
    yield f"  mean {span(series.mean)}, standard deviation {span(series.std)}"
    if not series.bins:
        yield "  its histogram is no longer kept"
        return
    found = {share: quantile(series.bins, share) for share in QUANTILES}
    words = [f"{share:.0%} within {span(end)}" for share, (_, end) in _known(found)]
    yield f"  {', '.join(words)}"
    bars = _bars(series.bins)
    most = max(bars.values())
    for first in _spanned(bars):
        times = bars.get(first, 0)
        full = "█" * max(round(BAR * times / most), 1 if times else 0)
        yield f"  {_label(first):>14}  {times:>9,}  {full}".rstrip()


def _known(
    found: Mapping[float, tuple[int, int] | None],
) -> Iterator[tuple[float, tuple[int, int]]]:
    return ((share, bounds) for share, bounds in found.items() if bounds is not None)


def _bars(bins: Mapping[str, int]) -> dict[int, int]:
    bars: dict[int, int] = {}
    for name, times in bins.items():
        first = max(edge for edge in _EDGES if edge <= edges(name)[0])
        bars[first] = bars.get(first, 0) + times
    return bars


def _spanned(bars: Mapping[int, int]) -> Iterator[int]:
    return (edge for edge in _EDGES if min(bars) <= edge <= max(bars))


def _label(first: int) -> str:
    later = [edge for edge in _EDGES if edge > first]
    return f"{_short(first)} - {_short(later[0])}" if later else f"{_short(first)} -"


def _short(seconds: int) -> str:
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"
