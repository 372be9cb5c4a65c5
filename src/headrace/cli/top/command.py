"""`top`: queues, workers and failures, live."""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from dataclasses import asdict

import click
from rich.console import Console

from headrace import Client
from headrace.cli import options
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.top.drawing import LOWEST_WITH_PANELS, frame
from headrace.cli.top.model import SnapshotHistory, View, ViewState
from headrace.cli.top.screen import watch
from headrace.operations.snapshot import snapshot
from headrace.transport.drive import drive

SHOWN_ONCE = 50
PIPED_WIDTH = 150


@click.command(epilog="Example: headrace top")
@options.server
@click.option(
    "--interval",
    type=click.FloatRange(0.1, 3600),
    metavar="SECONDS",
    default=1.0,
    help="Time between two snapshots, 0.1 to 3600; default: 1.",
)
@click.option("--once", is_flag=True, help="Print one picture and exit.")
@options.as_json
def top(server: ServerOptions, interval: float, once: bool, as_json: bool) -> None:
    """Watch queues, workers and failures live.

    Press ? for the keys and q to quit.
    """
    console = Console(highlight=False)
    live = console.is_terminal and not console.is_dumb_terminal and sys.stdin.isatty()
    with open_client(server) as client, suppress(KeyboardInterrupt):
        if as_json:
            click.echo(json.dumps(asdict(two_snapshots(client, interval)), default=str))
        elif once or not live:
            _show_once(client, console, interval)
        else:
            watch(client, console, interval, server.namespace)


def two_snapshots(client: Client, interval: float) -> View:
    """Return a view with rates, which need two snapshots."""
    core, history = client.core, SnapshotHistory()
    names = list(client.queues(count=SHOWN_ONCE))
    history.add(drive(core.transport, snapshot(core, detailed=names)))
    time.sleep(interval)
    history.add(drive(core.transport, snapshot(core, detailed=names)))
    return history.view("first use")


def _show_once(client: Client, console: Console, interval: float) -> None:
    view = two_snapshots(client, interval)
    width = console.width if console.is_terminal else PIPED_WIDTH
    height = min(len(view.rows), SHOWN_ONCE) + LOWEST_WITH_PANELS
    picture = frame(view, ViewState(), width, height, where=client.core.namespace)
    console.width = width
    console.print(picture)
