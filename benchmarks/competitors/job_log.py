"""Reports of the jobs to the benchmark, through files: the same code for all competitors.

In throughput workloads, a job costs one write to shared memory.
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

# Redelivered jobs need entries too, and a job without a free entry would fail.
SPARE = 1024


class JobLog:
    """The reports of the jobs in this process, in the directory of the trial."""

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
        # Several threads may count; next() of this counter is atomic.
        self.numbers = itertools.count()
        self.first = True

    def begin(self) -> None:
        """Report the start of a counted job; only the first job of a process writes a line."""
        if self.first:
            self.first = False
            self._tell("begun", f"{time.monotonic()}")

    def count(self) -> None:
        """Count one job."""
        self.times[next(self.numbers)] = time.monotonic()

    def late(self, at: float) -> None:
        """Report the latency of a job that was put at this time; 0 marks a warm-up job."""
        now = time.monotonic()
        if at:
            self._tell("late", f"{now - at}")
        else:
            (self.home / "ready").touch()

    def begun(self, number: int) -> None:
        """Report that the job with this number started."""
        self._tell("steps", f"begun {number} {time.monotonic()} {os.getpid()}")

    def ended(self, number: int) -> None:
        """Report that the job with this number ended."""
        self._tell("steps", f"ended {number} {time.monotonic()} {os.getpid()}")

    def _tell(self, name: str, line: str) -> None:
        with (self.home / name).open("a") as report:
            report.write(f"{line}\n")


def compute() -> None:
    """Use CPU time of this thread for a while, regardless of other threads."""
    end = time.thread_time() + BURN
    while time.thread_time() < end:
        pass
