"""What happened in a worker, told to the benchmark through files: the same code for all.

Where speed is measured a job costs one store into memory that both sides see.
"""

from __future__ import annotations

import itertools
import mmap
import os
import time
from pathlib import Path

NAP = 0.01
BURN = 0.05
STEP = 0.02

# Jobs may be handed out again, which must not become an error of theirs.
SPARE = 1024


class Tally:
    """What the jobs of this process did, in the directory of this turn of the benchmark."""

    def __init__(self) -> None:
        self.home = Path(os.environ["BENCH_HOME"])
        self.room = int(os.environ["BENCH_JOBS"]) + SPARE
        self._open()
        os.register_at_fork(after_in_child=self._open)

    def _open(self) -> None:
        size = self.room * 8
        with (self.home / f"{os.getpid()}.times").open("w+b") as file:
            file.truncate(size)
            self.times = memoryview(mmap.mmap(file.fileno(), size)).cast("d")
        # Several threads may count; next() of this is one step to them.
        self.numbers = itertools.count()
        self.first = True

    def begin(self) -> None:
        """A job begins that is counted when it ends; the first of a process says when that was."""
        if self.first:
            self.first = False
            self._tell("begun", f"{time.monotonic()}")

    def count(self) -> None:
        """One job of those that are counted."""
        self.times[next(self.numbers)] = time.monotonic()

    def late(self, at: float) -> None:
        """One job that was put at this time; 0 is a job that only warms up."""
        now = time.monotonic()
        if at:
            self._tell("late", f"{now - at}")
        else:
            (self.home / "ready").touch()

    def begun(self, number: int) -> None:
        """The job of this number begins."""
        self._tell("steps", f"begun {number} {time.monotonic()} {os.getpid()}")

    def ended(self, number: int) -> None:
        """The job of this number has ended."""
        self._tell("steps", f"ended {number} {time.monotonic()} {os.getpid()}")

    def _tell(self, name: str, line: str) -> None:
        with (self.home / name).open("a") as told:
            told.write(f"{line}\n")


def compute() -> None:
    """Compute for a while: processor time of this thread, whatever the others do."""
    end = time.thread_time() + BURN
    while time.thread_time() < end:
        pass
