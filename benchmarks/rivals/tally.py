"""What happened in a worker, told to the benchmark through a file: the same code for all.

Where speed is measured only the last job tells, so that telling costs the others nothing.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from pathlib import Path


class Tally:
    """Counts the jobs that this process began, up to the number that was announced."""

    def __init__(self) -> None:
        self.told = Path(os.environ["BENCH_TOLD"])
        self.last = int(os.environ["BENCH_JOBS"]) - 1
        # Several threads may count; next() of this is one step to them.
        self.numbers = itertools.count()
        self.begun = self.cpu = 0.0
        self.waited: list[float] = []

    def count(self) -> None:
        """One job of a drain."""
        number = next(self.numbers)
        if number == 0:
            self.begun, self.cpu = time.monotonic(), time.process_time()
        elif number == self.last:
            seconds = time.monotonic() - self.begun
            self._tell({"seconds": seconds, "cpu": time.process_time() - self.cpu})

    def late(self, at: float) -> None:
        """One job that was put at this time; 0 is a job that only warms up."""
        now = time.monotonic()
        if not at:
            self.told.with_suffix(".ready").touch()
            return
        self.waited.append(now - at)
        if len(self.waited) == self.last + 1:
            self._tell({"waited": self.waited})

    def held(self, number: int) -> None:
        """One job that will not end: who began it when is told at once."""
        with self.told.open("a") as told:
            told.write(f"{number} {os.getpid()} {time.monotonic()}\n")

    def _tell(self, found: dict[str, object]) -> None:
        part = self.told.with_suffix(".part")
        part.write_text(json.dumps(found))
        part.rename(self.told)
