"""`top`: what goes on, as it goes on."""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.opening import opened
from headrace.cli.options import Namespace, Url
from headrace.cli.show import AsJson

if TYPE_CHECKING:
    from rich.console import Console

    from headrace import Client
    from headrace.cli.top.model import View

SHOWN_ONCE = 50
WIDE = 150
SHORTEST = 0.1
LONGEST = 3600

Interval = Annotated[
    float, typer.Option(min=SHORTEST, max=LONGEST, help="Seconds between two looks.")
]
Once = Annotated[bool, typer.Option("--once", help="Show it once, and do not take the screen.")]


def top(
    *,
    url: Url = None,
    namespace: Namespace = "default",
    interval: Interval = 1.0,
    once: Once = False,
    as_json: AsJson = False,
) -> None:
    """Watch queues, workers and failures live; ? shows the keys, q quits."""
    # Here, because the other commands do not wait for it to be loaded.
    from rich import console as rich_console  # noqa: PLC0415

    console = rich_console.Console(highlight=False)
    live = console.is_terminal and not console.is_dumb_terminal and sys.stdin.isatty()
    with (
        opened(url, namespace) as client,
        suppress(KeyboardInterrupt),
    ):
        if as_json:
            typer.echo(json.dumps(asdict(look_twice(client, interval)), default=str))
        elif once or not live:
            _show_once(client, console, interval)
        else:
            from headrace.cli.top.screen import watch  # noqa: PLC0415

            watch(client, console, interval, namespace)


def look_twice(client: Client, interval: float) -> View:
    """A view with rates, which take two snapshots."""
    from headrace.cli.top.model import History  # noqa: PLC0415
    from headrace.cli.top.snapshot import take  # noqa: PLC0415

    history = History()
    names = list(client.queues(count=SHOWN_ONCE))
    history.add(take(client, seen=names))
    time.sleep(interval)
    history.add(take(client, seen=names))
    return history.view("first use")


def _show_once(client: Client, console: Console, interval: float) -> None:
    from headrace.cli.top.drawing import LOWEST_WITH_PANELS, frame  # noqa: PLC0415
    from headrace.cli.top.keys import State  # noqa: PLC0415

    view = look_twice(client, interval)
    width = console.width if console.is_terminal else WIDE
    height = min(len(view.rows), SHOWN_ONCE) + LOWEST_WITH_PANELS
    picture = frame(view, State(), width, height, where=client.core.namespace)
    console.width = width
    console.print(picture)
