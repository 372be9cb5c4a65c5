"""`top`: show queues, workers and failures, once or live."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict

import click
from rich.console import Console, RenderableType
from rich.live import Live

from headrace import Client
from headrace.cli import options
from headrace.cli.bulk_changes import exit_on_signal, handled
from headrace.cli.output import print_json, wants_json
from headrace.cli.top.drawing import LOWEST_WITH_PANELS, frame, visible_rows, waiting_frame
from headrace.cli.top.model import SnapshotHistory, View, ViewState, parse_keys, press
from headrace.errors import HeadraceError
from headrace.operations.namespace_snapshot import snapshot
from headrace.transport.drive import drive

SHOWN_ONCE = 50
PIPED_WIDTH = 150
READ_SIZE = 1024
# The screen adapts to a new size of the terminal within this time, in seconds.
REDRAW_EVERY = 0.2


@options.client_command("top")
@options.number(
    "--interval",
    least=0.1,
    most=3600,
    metavar="SECONDS",
    default=1.0,
    help="Time between two snapshots, 0.1 to 3600.",
)
@click.option("--once", is_flag=True, help="Print the view once and exit.")
def top(client: Client, interval: float, once: bool) -> None:
    """Watch queues, workers and failures live.

    Press ? for the keys and q to quit.
    """
    console = Console(highlight=False)
    live = console.is_terminal and not console.is_dumb_terminal and sys.stdin.isatty()
    with suppress(KeyboardInterrupt):
        if wants_json():
            print_json(asdict(two_snapshots(client, interval)))
        elif once or not live:
            _show_once(client, console, interval)
        else:
            watch(client, console, interval)


def two_snapshots(client: Client, interval: float) -> View:
    """Return a view with rates, which are computed from two snapshots."""
    core, history = client.core, SnapshotHistory()
    names = list(client.queues(count=SHOWN_ONCE))
    for pause in (0.0, interval):
        time.sleep(pause)
        history.add(drive(core.transport, snapshot(core, detailed=names)))
    return history.view("first use")


def _show_once(client: Client, console: Console, interval: float) -> None:
    view = two_snapshots(client, interval)
    width = console.width if console.is_terminal else PIPED_WIDTH
    height = min(len(view.rows), SHOWN_ONCE) + LOWEST_WITH_PANELS
    picture = frame(view, ViewState(), width, height, where=client.core.namespace)
    console.width = width
    console.print(picture)


class LiveScreen:
    """The content of the screen, and the user's choices, which key presses change."""

    def __init__(self, client: Client, console: Console) -> None:
        self._core = client.core
        self._console = console
        self._history = SnapshotHistory()
        self._visible: list[str] = []
        self._trouble = ""
        self._page_is_new = True
        self.needs_snapshot = True
        self.state = ViewState()

    def read(self) -> None:
        """Read a snapshot of the current page of queues."""
        self.needs_snapshot = False
        offset = self.state.offset
        try:
            operation = snapshot(self._core, offset=offset, detailed=self._visible)
            taken = drive(self._core.transport, operation)
        except HeadraceError as error:
            self._trouble = f"trying again: {error}"
            return
        self._trouble = ""
        if not self.state.paused or not self._history:
            self._history.add(taken, offset)

    def type(self, typed: str) -> None:
        """Handle typed keys."""
        for key in parse_keys(typed):
            before = self.state
            view = self._history.view(before.order) if self._history else None
            names = [row.name for row in view.rows] if view else []
            self.state = press(before, key, names, more=bool(view and view.more))
            self._page_is_new |= self.state.order != before.order
            if self.state.offset != before.offset:
                self._history.clear()
                self._page_is_new = self.needs_snapshot = True

    def picture(self) -> RenderableType:
        """Return the content of the screen, and determine the visible queues."""
        if not self._history:
            return waiting_frame(self._trouble)
        view = self._history.view(self.state.order)
        width, height = self._console.size
        self._visible = [row.name for row in visible_rows(view, self.state, height)]
        # Only snapshots of visible queues have statistics, so a new page needs another snapshot.
        self.needs_snapshot |= self._page_is_new
        self._page_is_new = False
        where = self._core.namespace
        return frame(view, self.state, width, height, where=where, trouble=self._trouble)


def watch(client: Client, console: Console, interval: float) -> None:
    """Show the live view until the user quits; restore the terminal afterwards."""
    screen = LiveScreen(client, console)
    with (
        handled(exit_on_signal, signal.SIGTERM, signal.SIGHUP),
        _keyboard() as keyboard,
        Live(screen.picture(), console=console, screen=True, auto_refresh=False) as live,
    ):
        due = 0.0
        while not screen.state.quit:
            if screen.needs_snapshot or time.monotonic() >= due:
                screen.read()
                due = time.monotonic() + interval
            live.update(screen.picture(), refresh=True)
            wait = 0 if screen.needs_snapshot else REDRAW_EVERY
            ready, _, _ = select.select([keyboard], [], [], wait)
            if ready:
                typed = os.read(keyboard, READ_SIZE)
                # An empty read means that the terminal is closed.
                screen.type(typed.decode(errors="replace") or "q")


@contextmanager
def _keyboard() -> Iterator[int]:
    """Read key presses without echo. Disables Ctrl-Z, which would leave the echo disabled."""
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    try:
        tty.setcbreak(keyboard)
        mode = termios.tcgetattr(keyboard)
        mode[6][termios.VSUSP] = b"\0"
        termios.tcsetattr(keyboard, termios.TCSANOW, mode)
        yield keyboard
    finally:
        termios.tcsetattr(keyboard, termios.TCSAFLUSH, before)
