"""`schedules`: what puts jobs again and again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import typer

from headrace.cli.opening import opened, server_time
from headrace.cli.options import Count, Namespace, Offset, SomeQueue, Url
from headrace.cli.show import AsJson, as_line, data_of, facts_of, table, tell_more
from headrace.cli.words import ago, span

if TYPE_CHECKING:
    from headrace import Schedule


def schedules(
    queue: SomeQueue = None,
    *,
    offset: Offset = 0,
    count: Count = 100,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """List schedules, by when their next turns come."""
    with opened(url, namespace) as client:
        found = client.schedules.list(queue, offset=offset, count=count)
        tell_more(len(found), offset, count, partial(client.schedules.list, queue))
        now = server_time(client)
    if as_json:
        typer.echo(as_line({"schedules": [facts_of(each) for each in found]}))
    elif found:
        table(
            ("schedule", "queue", "when", "next turn", "last turn", "made", "skipped", "data"),
            (
                (
                    each.id,
                    each.queue,
                    _rule(each),
                    f"{each.next:%Y-%m-%d %H:%M:%S} UTC, {ago(each.next, now)}",
                    ago(each.last, now),
                    each.made,
                    each.skipped,
                    data_of(each),
                )
                for each in found
            ),
            cut=True,
        )
    else:
        typer.echo("there are no schedules")


def _rule(each: Schedule) -> str:
    if each.every is not None:
        return f"every {span(each.every)}"
    return f"{each.cron} {each.zone}"
