"""`queues`, `pause`, `resume`, `schedules`: queues and the schedules that fill them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

import click

from headrace import Schedule
from headrace.cli import options
from headrace.cli.connecting import ServerOptions, existing_queue, open_client, server_time
from headrace.cli.output import ago, data_of, facts_of, hint_at_more, show, span, table, to_json
from headrace.cli.shell_completion import queue_names

COUNTS = ("waiting", "scheduled", "blocked", "running", "late", "failed", "complete")

names_argument = click.argument(
    "names",
    metavar="QUEUE...",
    nargs=-1,
    required=True,
    shell_complete=queue_names,
    help="Names of queues.",
)


@click.command(epilog="Example: headrace queues")
@options.offset
@options.count(100)
@options.server
@options.as_json
def queues(offset: int, count: int, server: ServerOptions, as_json: bool) -> None:
    """List the queues with the number of jobs in each state."""
    with open_client(server) as client:
        found = client.queues(offset=offset, count=count)
        hint_at_more(len(found), offset, count, client.queues)
    if as_json:
        click.echo(to_json({"queues": {name: asdict(counts) for name, counts in found.items()}}))
    elif found:
        rows = (
            (name, *(getattr(counts, each) for each in COUNTS), "paused" if counts.paused else "")
            for name, counts in found.items()
        )
        table(("queue", *COUNTS, ""), rows)
    else:
        click.echo(f"namespace {server.namespace} has no queues yet; the first put creates one")


@click.command(epilog="Example: headrace pause mail")
@names_argument
@options.server
@options.as_json
def pause(names: Sequence[str], server: ServerOptions, as_json: bool) -> None:
    """Stop handing out jobs of queues until they are resumed."""
    with open_client(server) as client:
        for queue in [existing_queue(client, name) for name in names]:
            queue.pause()
    show({"paused": names}, f"paused: {', '.join(names)}", as_json=as_json)


@click.command(epilog="Example: headrace resume mail")
@names_argument
@options.server
@options.as_json
def resume(names: Sequence[str], server: ServerOptions, as_json: bool) -> None:
    """Hand out jobs of paused queues again."""
    with open_client(server) as client:
        for queue in [existing_queue(client, name) for name in names]:
            queue.resume()
    show({"resumed": names}, f"resumed: {', '.join(names)}", as_json=as_json)


@click.command(epilog="Example: headrace schedules")
@options.optional_queue
@options.offset
@options.count(100)
@options.server
@options.as_json
def schedules(
    queue: str | None, offset: int, count: int, server: ServerOptions, as_json: bool
) -> None:
    """List schedules by the time of their next run."""
    with open_client(server) as client:
        found = client.schedules.list(queue, offset=offset, count=count)
        hint_at_more(len(found), offset, count, partial(client.schedules.list, queue))
        now = server_time(client)
    if as_json:
        click.echo(to_json({"schedules": [facts_of(each) for each in found]}))
    elif found:
        table(
            ("schedule", "queue", "when", "next run", "last run", "put", "skipped", "data"),
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
        click.echo("there are no schedules")


def _rule(each: Schedule) -> str:
    if each.every is not None:
        return f"every {span(each.every)}"
    return f"{each.cron} {each.zone}"
