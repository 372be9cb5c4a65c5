"""A pseudo-terminal that runs the command line."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

MAIN = "from headrace.cli.main import main; main()"
# Ctrl-C becomes a signal only on the controlling terminal of the process.
TAKE_TERMINAL = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
ON_ITS_OWN = f"{TAKE_TERMINAL}; {MAIN}"
RUN_PROGRAM = f"{TAKE_TERMINAL}; os.execvp(sys.argv[1], sys.argv[1:])"
ORDERS = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|[()][A-Z0-9]|[=>78])")
PATIENCE = 20.0
KEPT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("HEADRACE_")
    and name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
}


class Terminal:
    """The output of a command on a terminal, and its keyboard."""

    def __init__(self, leader: int, follower: int, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.text = ""
        self._leader = leader
        self._follower = follower
        self._modes = termios.tcgetattr(follower)

    def press(self, keys: str) -> None:
        """Type keys, and discard the output up to now."""
        self.text = ""
        os.write(self._leader, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Change the size, as a window manager would."""
        self.text = ""
        set_size(self._leader, columns, lines)

    def until(self, words: str) -> str:
        """Wait until the output contains these words, and return the output."""
        deadline = time.monotonic() + PATIENCE
        while words not in ORDERS.sub("", self.text):
            assert time.monotonic() < deadline, f"no {words!r} in {self.text[-2000:]!r}"
            self._read(0.1)
        return ORDERS.sub("", self.text)

    def end(self) -> int:
        """Wait for the end of the command and return its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"the command did not end: {self.text[-2000:]!r}"
            self._read(0.05)
        while self._read(0.05):
            pass
        return self.process.returncode

    def is_restored(self) -> bool:
        """Return whether modes, cursor and screen are restored."""
        back = "\x1b[?1049l" in self.text and "\x1b[?25h" in self.text
        return back and termios.tcgetattr(self._follower) == self._modes

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._leader], [], [], seconds)
        if ready:
            self.text += os.read(self._leader, 65536).decode(errors="replace")
        return bool(ready)


def set_size(terminal: int, columns: int, lines: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


@contextmanager
def on_a_terminal(
    *arguments: str, cwd: Path, columns: int = 150, lines: int = 30
) -> Iterator[Terminal]:
    """Run a command of headrace on a terminal of this size."""
    with _terminal([ON_ITS_OWN, *arguments], cwd, {}, columns, lines) as found:
        yield found


@contextmanager
def program_on_a_terminal(*command: str, cwd: Path, env: Mapping[str, str]) -> Iterator[Terminal]:
    """Run a program, such as a shell, on a terminal."""
    with _terminal([RUN_PROGRAM, *command], cwd, env, columns=150, lines=30) as found:
        yield found


@contextmanager
def _terminal(
    code: Sequence[str], cwd: Path, env: Mapping[str, str], columns: int, lines: int
) -> Iterator[Terminal]:
    leader, follower = pty.openpty()
    set_size(leader, columns, lines)
    process = subprocess.Popen(
        [sys.executable, "-c", *code],
        cwd=cwd,
        env={**KEPT, "TERM": "xterm-256color", **env},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    try:
        yield Terminal(leader, follower, process)
    finally:
        process.kill()
        process.wait()
        os.close(leader)
        os.close(follower)
