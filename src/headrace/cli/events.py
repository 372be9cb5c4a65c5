"""`events`: the log of what happened, and of what happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.completing import queue_names
from headrace.cli.opening import opened
from headrace.cli.options import JsonLines, Namespace, Url
from headrace.cli.show import as_line, facts_of_event, printable

if TYPE_CHECKING:
    from headrace import Client, Event
    from headrace.transport.drive import Operation

PAGE = 1000
WAIT_MS = 1000


def events(
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what happens; Ctrl-C ends it.")
    ] = False,
    count: Annotated[int, typer.Option("--count", min=0, help="The newest so many.")] = 25,
    queue: Annotated[
        str | None,
        typer.Option("--queue", metavar="QUEUE", autocompletion=queue_names, help="Of this queue."),
    ] = None,
    job: Annotated[str | None, typer.Option("--job", metavar="ID", help="Of this job.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Of this kind; may be given again."),
    ] = None,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: JsonLines = False,
) -> None:
    """Show what happened last; with --follow also what happens."""
    _check_kinds(kind)

    def is_wanted(event: Event) -> bool:
        return (
            queue in (None, event.queue)
            and job in (None, event.job_id)
            and (not kind or event.kind in kind)
        )

    shown = json_of if as_json else line_of
    with opened(url, namespace) as client:
        seen: dict[int, str] = {}
        for event in newest(client, count, is_wanted, seen):
            typer.echo(shown(event))
        if follow:
            for event in filter(is_wanted, coming(client, seen)):
                typer.echo(shown(event))


def _check_kinds(kinds: list[str] | None) -> None:
    from headrace.engine.events import KINDS  # noqa: PLC0415  msgspec takes long to load

    for kind in kinds or ():
        if kind not in KINDS:
            raise typer.BadParameter(
                f"no kind {kind!r}; there are: {', '.join(KINDS)}", param_hint="--kind"
            )


def newest(
    client: Client, count: int, is_wanted: Callable[[Event], bool], seen: dict[int, str]
) -> list[Event]:
    """The newest events that are wanted, oldest first; `seen` is told where each shard ends."""
    from headrace.transport.drive import drive  # noqa: PLC0415  redis takes long to load

    found: list[Event] = []
    for shard in range(client.core.shards):
        kept: list[Event] = []
        before = "+"
        while True:
            page = drive(client.core.transport, _read_back(client, shard, before))
            if page:
                seen.setdefault(shard, page[0].entry_id)
            kept += filter(is_wanted, page)
            if len(page) < PAGE or len(kept) >= count:
                break
            before = f"({page[-1].entry_id}"
        found += kept[:count]
    found.sort(key=lambda event: (event.at, event.shard, event.number))
    return found[-count:] if count else []


def _read_back(client: Client, shard: int, before: str) -> Operation[list[Event]]:
    from headrace.engine.events import read_event  # noqa: PLC0415
    from headrace.operations.requests import raw  # noqa: PLC0415

    key = client.core.key(shard, "events")
    words = ("XREVRANGE", key, before, "-", "COUNT", PAGE)
    [entries] = yield from raw(client.core, [(shard, words)])
    return [read_event(shard, entry_id, pairs) for entry_id, pairs in entries]


def coming(client: Client, seen: dict[int, str]) -> Iterator[Event]:
    """Events as they come, after those that were seen."""
    from headrace.operations import event_log  # noqa: PLC0415
    from headrace.transport.drive import drive  # noqa: PLC0415

    transport = client.core.transport
    while True:
        found = drive(transport, event_log.events(client, after=seen))
        for event in found:
            seen[event.shard] = event.entry_id
            yield event
        if not found:
            drive(transport, event_log.wait_for_event(client, seen, WAIT_MS))


def json_of(event: Event) -> str:
    """An event for programs."""
    return as_line(facts_of_event(event))


def line_of(event: Event) -> str:
    """An event for people."""
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
