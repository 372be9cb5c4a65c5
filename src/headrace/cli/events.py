"""`events`: the event log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import click

from headrace import Client, Event
from headrace.cli import options
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.output import facts_of_event, printable, to_json, wants_json
from headrace.engine.events import KINDS, read_event
from headrace.operations import event_log
from headrace.operations.requests import raw
from headrace.transport.drive import Operation, drive

PAGE = 1000
WAIT_MS = 1000


@options.command("events --follow --queue mail", json_help=options.JSON_LINES)
@click.option("--follow", "-f", is_flag=True, help="Print new events until Ctrl-C.")
@options.number(
    "--count", least=0, default=25, help="Show this many of the newest events; default: 25."
)
@options.in_queue
@click.option("--job", metavar="ID", help="Only events of this job.")
@click.option(
    "--kind",
    metavar="KIND",
    multiple=True,
    type=options.one_of("kind", tuple(KINDS)),
    help="Only events of this kind; repeatable.",
)
def events(
    follow: bool,
    count: int,
    queue: str | None,
    job: str | None,
    kind: Sequence[str],
    server: ServerOptions,
) -> None:
    """Show the latest events; --follow also prints new ones."""

    def is_wanted(event: Event) -> bool:
        return (
            queue in (None, event.queue)
            and job in (None, event.job_id)
            and (not kind or event.kind in kind)
        )

    formatted = json_of if wants_json() else line_of
    with open_client(server) as client:
        seen: dict[int, str] = {}
        for event in newest(client, count, is_wanted, seen):
            click.echo(formatted(event))
        if follow:
            for event in filter(is_wanted, new_events(client, seen)):
                click.echo(formatted(event))


def newest(
    client: Client, count: int, is_wanted: Callable[[Event], bool], seen: dict[int, str]
) -> list[Event]:
    """Return the newest wanted events, oldest first.

    Stores the id of the last entry of every shard in `seen`.
    """
    found: list[Event] = []
    for shard in range(client.core.shards):
        kept: list[Event] = []
        before = "+"
        while True:
            page = drive(client.core.transport, _page_before(client, shard, before))
            if page:
                seen.setdefault(shard, page[0].entry_id)
            kept += filter(is_wanted, page)
            if len(page) < PAGE or len(kept) >= count:
                break
            before = f"({page[-1].entry_id}"
        found += kept[:count]
    found.sort(key=lambda event: (event.at, event.shard, event.number))
    return found[-count:] if count else []


def _page_before(client: Client, shard: int, before: str) -> Operation[list[Event]]:
    key = client.core.key(shard, "events")
    words = ("XREVRANGE", key, before, "-", "COUNT", PAGE)
    [entries] = yield from raw(client.core, [(shard, words)])
    return [read_event(shard, entry_id, pairs) for entry_id, pairs in entries]


def new_events(client: Client, seen: dict[int, str]) -> Iterator[Event]:
    """Yield events after the entries in `seen`, and wait for more."""
    transport = client.core.transport
    while True:
        found = drive(transport, event_log.events(client, after=seen))
        for event in found:
            seen[event.shard] = event.entry_id
            yield event
        if not found:
            drive(transport, event_log.wait_for_event(client, seen, WAIT_MS))


def json_of(event: Event) -> str:
    """Format an event as one line of JSON."""
    return to_json(facts_of_event(event))


def line_of(event: Event) -> str:
    """Format an event as one line of text."""
    words = (
        f"{event.at:%Y-%m-%d %H:%M:%S}.{event.at.microsecond // 1000:03}",
        f"{event.kind:<11}",
        event.queue,
        event.job_id,
        f"attempt {event.attempt}" if event.attempt else "",
        event.worker,
        _about(event),
    )
    return printable("  ".join(filter(None, words)))


def _about(event: Event) -> str:
    if event.failure:
        return f"{event.failure}: {event.message or ''}".removesuffix(": ")
    return f"to {event.next_queue}" if event.next_queue else event.reason or ""
