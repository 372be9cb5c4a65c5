"""The terminal: what is typed, what is read meanwhile, and a picture of both."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live

from headrace.cli.top.drawing import frame, seen, waiting_frame
from headrace.cli.top.keys import State, keys_in, pressed
from headrace.cli.top.model import History
from headrace.cli.top.snapshot import Snapshot, take
from headrace.client.client import Client
from headrace.errors import HeadraceError

TYPED_AT_ONCE = 1024
ENDINGS = (signal.SIGTERM, signal.SIGHUP)


class Reader(threading.Thread):
    """Takes snapshots in turn, so that keys are heard also while a server does not answer."""

    def __init__(self, client: Client, interval: float, wake: int) -> None:
        super().__init__(daemon=True)
        self.offset = 0
        self.seen: list[str] = []
        self.found: Snapshot | Exception | None = None
        self._client = client
        self._interval = interval
        self._wake = wake
        self._hurry = threading.Event()

    def run(self) -> None:
        while True:
            try:
                self.found = take(self._client, offset=self.offset, seen=self.seen)
            except Exception as error:  # noqa: BLE001 - it is the screen that decides
                self.found = error
            os.write(self._wake, b".")
            self._hurry.wait(self._interval)
            self._hurry.clear()

    def hurry(self) -> None:
        """What is to be seen has changed."""
        self._hurry.set()


class Screen:
    """What is shown now, and how it goes on."""

    def __init__(self, console: Console, reader: Reader, where: str) -> None:
        self._console = console
        self._reader = reader
        self._where = where
        self._history = History()
        self._empty = True
        # What comes into sight by a key is read at once, what does by itself in its turn.
        self._rush = True
        self._trouble = ""
        self.state = State()

    def learn(self) -> None:
        """Takes in what was read."""
        found, self._reader.found = self._reader.found, None
        if isinstance(found, HeadraceError):
            # An answer that says no is the cause of its error; no answer has none.
            what = "no connection" if found.__cause__ is None else "refused"
            self._trouble = f"{what}, trying again: {found}"
        elif isinstance(found, Exception):
            raise found
        elif found is not None:
            self._trouble = ""
            self._show(found)

    def _show(self, found: Snapshot) -> None:
        if not self.state.paused:
            self._history.add(found)
            self._empty = False

    def type(self, typed: str) -> None:
        """Does what keys say."""
        for key in keys_in(typed):
            before = self.state
            view = None if self._empty else self._history.view(before.order)
            names = [row.name for row in view.rows] if view else []
            self.state = pressed(before, key, names, more=bool(view and view.more))
            self._rush |= self.state.order != before.order
            if self.state.offset != before.offset:
                self._turn_page()

    def _turn_page(self) -> None:
        self._history.forget()
        self._empty = True
        self._rush = True
        self._reader.offset = self.state.offset
        self._reader.hurry()

    def picture(self) -> RenderableType:
        """What is to be seen, and what of it is to be read in detail next."""
        if self._empty:
            return waiting_frame(self._trouble)
        view = self._history.view(self.state.order)
        width, height = self._console.size
        self._reader.seen = [row.name for row in seen(view, self.state, height)]
        if self._rush:
            self._rush = False
            self._reader.hurry()
        return frame(view, self.state, width, height, where=self._where, trouble=self._trouble)


def watch(client: Client, console: Console, interval: float, where: str) -> None:
    """Shows the view until somebody quits; the terminal is then as it was."""
    with _woken() as (awake, wake), _keyboard() as keyboard:
        reader = Reader(client, interval, wake)
        screen = Screen(console, reader, where)
        with Live(screen.picture(), console=console, screen=True, auto_refresh=False) as live:
            reader.start()
            while not screen.state.over:
                ready, _, _ = select.select([awake, keyboard], [], [])
                if awake in ready:
                    os.read(awake, TYPED_AT_ONCE)
                    screen.learn()
                if keyboard in ready:
                    typed = os.read(keyboard, TYPED_AT_ONCE)
                    # A terminal that is gone has nothing more to say.
                    screen.type(typed.decode(errors="replace") or "q")
                live.update(screen.picture(), refresh=True)


@contextmanager
def _woken() -> Iterator[tuple[int, int]]:
    """A pipe to be woken by: by the reader, by a terminal of a new size, by who wants an end."""
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(awake, False)
    handlers: dict[int, Any] = {signal.SIGWINCH: lambda *_: None}
    handlers |= dict.fromkeys(ENDINGS, _end)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    earlier = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    try:
        yield awake, wake
    finally:
        signal.set_wakeup_fd(earlier)
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _: object) -> None:
    sys.exit(128 + number)


@contextmanager
def _keyboard() -> Iterator[int]:
    """Keys as they are pressed, not shown, and without a way to stop us half way."""
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
