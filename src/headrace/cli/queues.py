"""`queues`, `pause`, `resume`: queues and what they have to do."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from headrace.cli.completing import queue_names
from headrace.cli.opening import existing, opened
from headrace.cli.options import Count, Namespace, Offset, Url
from headrace.cli.show import AsJson, as_line, show, table, tell_more

Queues = Annotated[
    list[str], typer.Argument(metavar="QUEUE", autocompletion=queue_names, help="Which ones.")
]
COLUMNS = ("waiting", "scheduled", "blocked", "running", "late", "failed", "complete")


def queues(
    *,
    offset: Offset = 0,
    count: Count = 100,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """List the queues, and how many jobs are in which state."""
    with opened(url, namespace) as client:
        found = client.queues(offset=offset, count=count)
        tell_more(len(found), offset, count, client.queues)
    if as_json:
        typer.echo(as_line({"queues": {name: asdict(counts) for name, counts in found.items()}}))
    elif found:
        rows = (
            (name, *(getattr(counts, each) for each in COLUMNS), "paused" if counts.paused else "")
            for name, counts in found.items()
        )
        table(("queue", *COLUMNS, ""), rows)
    else:
        typer.echo(f"namespace {namespace} has no queues yet; the first put makes one")


def pause(
    names: Queues, *, url: Url = None, namespace: Namespace = "default", as_json: AsJson = False
) -> None:
    """Let workers get nothing from queues until they are resumed."""
    with opened(url, namespace) as client:
        for queue in [existing(client, name) for name in names]:
            queue.pause()
    show({"paused": names}, f"paused: {', '.join(names)}", as_json=as_json)


def resume(
    names: Queues, *, url: Url = None, namespace: Namespace = "default", as_json: AsJson = False
) -> None:
    """Let workers get jobs from queues again."""
    with opened(url, namespace) as client:
        for queue in [existing(client, name) for name in names]:
            queue.resume()
    show({"resumed": names}, f"resumed: {', '.join(names)}", as_json=as_json)
