"""`events`: print the event log, once or continuously."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import click

from headrace import Client, Event
from headrace.cli import options
from headrace.cli.output import facts_of_event, print_json, say
from headrace.engine.check import PAGE
from headrace.engine.events import KINDS
from headrace.operations import event_log
from headrace.transport.drive import drive


@options.client_command("events --follow --queue mail", json_help=options.JSON_LINES)
@click.option("--follow", "-f", is_flag=True, help="Print new events until Ctrl-C.")
@options.number("--count", least=0, default=25, help="Show this many of the newest events.")
@options.in_queue
@click.option("--job", metavar="ID", help="Only events of this job.")
@click.option(
    "--kind",
    metavar="KIND",
    multiple=True,
    type=click.Choice(tuple(KINDS)),
    help="Only events of this kind; repeatable.",
)
def events(
    follow: bool,
    count: int,
    queue: str | None,
    job: str | None,
    kind: Sequence[str],
    client: Client,
) -> None:
    """Show the latest events.

    With --follow, the command also prints new events until Ctrl-C.
    """

    def is_wanted(event: Event) -> bool:
        return (
            queue in (None, event.queue)
            and job in (None, event.job_id)
            and (not kind or event.kind in kind)
        )

    seen: dict[int, str] = {}
    for event in newest(client, count, is_wanted, seen):
        _show(event)
    if follow:
        for event in filter(is_wanted, new_events(client, seen)):
            _show(event)


def _show(event: Event) -> None:
    if not print_json(facts_of_event(event)):
        say(line_of(event))


def newest(
    client: Client, count: int, is_wanted: Callable[[Event], bool], seen: dict[int, str]
) -> list[Event]:
    """Return the newest events that `is_wanted` accepts, oldest first.

    In `seen`, store for each shard number the id of the last entry that was read.
    """
    core = client.core
    found: list[Event] = []
    for shard in range(core.shards):
        kept: list[Event] = []
        before = "+"
        while True:
            read = event_log.read_log(core, shard, before, PAGE, newest_first=True)
            page = drive(core.transport, read)
            if page:
                seen.setdefault(shard, page[0].entry_id)
            kept += filter(is_wanted, page)
            if len(page) < PAGE or len(kept) >= count:
                break
            before = f"({page[-1].entry_id}"
        found += kept[:count]
    found.sort(key=lambda event: (event.at, event.shard, event.number))
    return found[-count:] if count else []


def new_events(client: Client, seen: dict[int, str]) -> Iterator[Event]:
    """Yield the events after the entries in `seen`, and wait for further events."""
    read = event_log.reader(client, PAGE, follow=True, seen=seen)
    while found := drive(client.core.transport, read()):
        yield from found


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
    return "  ".join(filter(None, words))


def _about(event: Event) -> str:
    if event.failure:
        return f"{event.failure}: {event.message or ''}".removesuffix(": ")
    return f"to {event.next_queue}" if event.next_queue else event.reason or ""
