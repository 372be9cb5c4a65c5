"""A worker process, as its supervisor sees it."""

from __future__ import annotations

import math
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from headrace.client.session import Session
from headrace.worker.begun import Begun
from headrace.worker.process import END, FAREWELL, LAST_WORDS, Hello, Line

# How much longer than its jobs a process may take to end: it may be unable to hear us.
OVERTIME = LAST_WORDS + FAREWELL + 1.0


class Child:
    """A process that was forked, and what is known of it."""

    def __init__(self, name: str, pid: int, line: Line, place: int, begun: Begun) -> None:
        self.begun = begun
        self.place = place
        self.name = name
        self.pid = pid
        self.line = line
        self.hello: Hello | None = None
        self.session: Session | None = None
        self.since = time.monotonic()
        self.ends_said = 0
        self.end_by = math.inf
        self.overdue = False
        self._heard = b""

    def hear(self) -> bool:
        """Reads what it says; True when it has said hello."""
        heard = os.read(self.line.reads, 65536)
        self._heard += heard
        if self.hello is None and b"\n" in self._heard:
            self.hello = msgspec.json.decode(self._heard, type=Hello)
            return True
        return False

    def tell(self, word: bytes) -> None:
        with suppress(BrokenPipeError):
            os.write(self.line.writes, word)

    def say_end(self, drain: float) -> None:
        """Tells it to end: not by a signal, as those that go to all of us would count twice."""
        self.ends_said += 1
        self.end_by = time.monotonic() + OVERTIME + (drain if self.ends_said == 1 else 0)
        self.tell(END)
        if self.hello is None:
            # It does not listen yet.
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)


def is_stopped(pid: int) -> bool:
    """Whether a process was halted (SIGSTOP): then it does nothing for its jobs."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] in ("T", "t")
