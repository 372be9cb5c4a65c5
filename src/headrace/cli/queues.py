"""`queues`, `stats`, `pause`, `resume` and `schedules`: commands about queues and schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from typing import Any

import click

from headrace import Client, Queue, Schedule, Stats
from headrace.cli import options, output
from headrace.cli.connecting import existing_queue, server_time
from headrace.cli.shell_completion import queue_names
from headrace.engine.statistics import Series, bin_bounds, quantile

COUNTS = ("waiting", "scheduled", "blocked", "running", "late", "failed", "complete")

# The bars of a histogram start at 0 s, 1 s, 2 s, ..., 1 min, 2 min, ..., 30 d. For each time unit:
# the length of the unit in seconds, and the numbers of units at which bars start.
_STARTS = {
    "s": (1, (0, 1, 2, 5, 10, 20, 30)),
    "min": (60, (1, 2, 5, 10, 15, 30)),
    "h": (3600, (1, 2, 4, 8, 12)),
    "d": (86_400, (1, 2, 3, 7, 30)),
}
_LABELS = {
    length * number: f"{number} {unit}"
    for unit, (length, numbers) in _STARTS.items()
    for number in numbers
}
QUANTILES = (0.5, 0.9, 0.99)

names_argument = click.argument(
    "names",
    metavar="QUEUE...",
    nargs=-1,
    required=True,
    shell_complete=queue_names,
    help="Names of queues.",
)


@options.client_command("queues")
@options.offset
@options.count(100)
def queues(offset: int, count: int, client: Client) -> None:
    """List the queues with the number of jobs in each state."""
    found = output.read_page(client.queues, offset, count)
    rows = (
        (name, *(getattr(counts, each) for each in COUNTS), "paused" if counts.paused else "")
        for name, counts in found.items()
    )
    facts = {"queues": {name: asdict(counts) for name, counts in found.items()}}
    empty = f"namespace {client.core.namespace} has no queues yet; the first put creates one"
    output.show_rows(facts, ("queue", *COUNTS, ""), rows, empty)


@options.client_command("pause mail")
@names_argument
def pause(names: Sequence[str], client: Client) -> None:
    """Stop handing out jobs of queues until the queues are resumed."""
    _change(names, client, Queue.pause, "paused")


@options.client_command("resume mail")
@names_argument
def resume(names: Sequence[str], client: Client) -> None:
    """Hand out jobs of paused queues again."""
    _change(names, client, Queue.resume, "resumed")


def _change(
    names: Sequence[str], client: Client, change: Callable[[Queue], None], done: str
) -> None:
    for queue in [existing_queue(client, name) for name in names]:
        change(queue)
    output.show({done: names}, f"{done}: {', '.join(names)}")


@options.client_command("schedules")
@options.optional_queue
@options.offset
@options.count(100)
def schedules(queue: str | None, offset: int, count: int, client: Client) -> None:
    """List schedules by the time of their next run."""
    found = output.read_page(partial(client.schedules.list, queue), offset, count)
    now = server_time(client)
    rows = (
        (
            each.id,
            each.queue,
            _rule(each),
            f"{each.next:%Y-%m-%d %H:%M:%S} UTC, {output.ago(each.next, now)}",
            output.ago(each.last, now),
            each.made,
            each.skipped,
            output.data_of(each),
        )
        for each in found
    )
    columns = ("schedule", "queue", "when", "next run", "last run", "put", "skipped", "data")
    facts = {"schedules": [output.facts_of(each) for each in found]}
    output.show_rows(facts, columns, rows, "no schedules", cut=True)


def _rule(each: Schedule) -> str:
    if each.every is not None:
        return f"every {output.span(each.every)}"
    return f"{each.cron} {each.zone}"


@options.client_command("stats mail 2026-11-15")
@options.queue
@click.argument("day", required=False, help="A UTC day such as 2026-11-15; default: today.")
def stats(queue: str, day: str | None, client: Client) -> None:
    """Show how long the jobs of a queue waited and ran on one day."""
    found = existing_queue(client, queue).stats(day)
    if output.print_json(_stats_facts(found)):
        return
    output.pairs(
        (
            ("queue", found.queue),
            ("day", found.day),
            ("failures", f"{found.failures:,}"),
            ("retries", f"{found.retries:,}"),
            ("failed now", f"{found.failed:,}"),
        )
    )
    for name, series in (("waiting", found.wait), ("running", found.run)):
        output.heading(f"{name} time of {output.counted(series.count, 'job')}")
        for line in series_lines(series):
            output.say(f"  {line}")


def _stats_facts(found: Stats) -> dict[str, Any]:
    names = ("queue", "day", "failures", "retries", "failed")
    facts = {name: getattr(found, name) for name in names}
    for name, series in (("wait", found.wait), ("run", found.run)):
        facts[name] = {
            "count": series.count,
            "mean": series.mean,
            "std": series.std,
            "quantiles": {str(share): quantile(series.bins, share) for share in QUANTILES},
            "bins": dict(series.bins),
        }
    return facts


def series_lines(series: Series) -> Iterator[str]:
    """Yield lines that show the mean, quantiles and histogram of waiting or running times."""
    if not series.count:
        yield "no jobs on this day"
        return
    yield f"mean {output.span(series.mean)}, standard deviation {output.span(series.std)}"
    if not series.bins:
        yield "the histogram of this day has expired"
        return
    ends = ((share, quantile(series.bins, share)) for share in QUANTILES)
    yield ", ".join(
        f"{share:.0%} within {output.span(bounds[1])}" for share, bounds in ends if bounds
    )
    yield from output.histogram(_bars(series.bins))


def _bars(bins: Mapping[str, int]) -> list[tuple[str, int]]:
    """Merge bins into bars of growing width, from the first to the last bar that is not empty."""
    counts = Counter[int]()
    for name, times in bins.items():
        counts[max(start for start in _LABELS if start <= bin_bounds(name)[0])] += times
    return [
        (f"{label} - {end}".rstrip(), counts[start])
        for (start, label), (_, end) in pairwise((*_LABELS.items(), (0, "")))
        if min(counts) <= start <= max(counts)
    ]
