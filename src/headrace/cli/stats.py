"""`stats`: how long the jobs of a queue waited and ran on one day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from headrace import Stats
from headrace.cli import options
from headrace.cli.connecting import ServerOptions, existing_queue, open_client
from headrace.cli.output import counted, heading, histogram, pairs, span, to_json
from headrace.engine.statistics import Series, bin_bounds, quantile

# The starts of the histogram's bars, in seconds.
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_EDGES = (
    *(0, 1, 2, 5, 10, 20, 30),
    *(_MINUTE * number for number in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * number for number in (1, 2, 4, 8, 12)),
    *(_DAY * number for number in (1, 2, 3, 7, 30)),
)
QUANTILES = (0.5, 0.9, 0.99)


@click.command(epilog="Example: headrace stats mail 2026-11-15")
@options.queue
@click.argument("day", required=False, help="A UTC day such as 2026-11-15; default: today.")
@options.server
@options.as_json
def stats(queue: str, day: str | None, server: ServerOptions, as_json: bool) -> None:
    """Show how long the jobs of a queue waited and ran on one day."""
    with open_client(server) as client:
        found = existing_queue(client, queue).stats(day)
    if as_json:
        click.echo(to_json(_facts(found)))
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
        for line in _lines(series):
            click.echo(f"  {line}")


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


def _lines(series: Series) -> Iterator[str]:
    if not series.count:
        yield "no jobs on this day"
        return
    yield f"mean {span(series.mean)}, standard deviation {span(series.std)}"
    if not series.bins:
        yield "the histogram has expired"
        return
    ends = ((share, quantile(series.bins, share)) for share in QUANTILES)
    yield ", ".join(f"{share:.0%} within {span(bounds[1])}" for share, bounds in ends if bounds)
    yield from histogram(bars(series.bins))


def bars(bins: Mapping[str, int]) -> list[tuple[str, int]]:
    """Sum bins into bars of growing width, from the first to the last that has a value."""
    counts: dict[int, int] = {}
    for name, times in bins.items():
        start = max(edge for edge in _EDGES if edge <= bin_bounds(name)[0])
        counts[start] = counts.get(start, 0) + times
    shown = (edge for edge in _EDGES if min(counts) <= edge <= max(counts))
    return [(_label(edge), counts.get(edge, 0)) for edge in shown]


def _label(start: int) -> str:
    later = [edge for edge in _EDGES if edge > start]
    return f"{_short(start)} - {_short(later[0])}" if later else f"{_short(start)} -"


def _short(seconds: int) -> str:
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"
