"""One trial of one competitor: its producer, its worker, and the files in which it reports."""

from __future__ import annotations

import json
import mmap
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.comparison.competitors import Competitor, Load
from benchmarks.comparison.processes import cpu_seconds, end, memory_mib, running, tree
from benchmarks.comparison.servers import Server
from headrace.local_server import server_process

TIMEOUT = 60.0
POLL = 0.02


# Set when all trials have to stop, including those in other threads.
stopped = threading.Event()


class NotMeasured(Exception):
    """A worker or a producer failed; the message names the failed process."""


class Worker:
    """A running worker: one or more process trees."""

    def __init__(self, roots: list[subprocess.Popen[bytes]]) -> None:
        self.roots = roots
        self.pids = [root.pid for root in roots]

    def end(self) -> None:
        """End all processes of the worker."""
        for root in self.roots:
            end(root)

    def cpu(self) -> float:
        """Return the CPU time of the worker so far, in seconds."""
        return sum(cpu_seconds(pid) for pid in self.pids)

    def members(self) -> list[int]:
        """Return all processes of the worker, parents first."""
        return [member for pid in self.pids for member in tree(pid)]

    def memory_mib(self) -> tuple[float, float]:
        """Return Pss and Rss of all processes of the worker."""
        pss, rss = zip(*(memory_mib(pid) for pid in self.pids), strict=True)
        return sum(pss), sum(rss)


class Trial:
    """A trial: the settings of a competitor and its reports."""

    def __init__(
        self,
        competitor: Competitor,
        server: Server,
        directory: Path,
        jobs: int,
        load: Load | None = None,
    ) -> None:
        self.competitor = competitor
        self.server = server
        self.directory = directory
        self.load = load or Load()
        self.settings = {
            **competitor.settings,
            "BENCH_URL": server.url,
            "BENCH_HOME": str(directory),
            "BENCH_JOBS": str(jobs),
        }
        if self.load.concurrency:
            self.settings["BENCH_CONCURRENCY"] = str(self.load.concurrency)

    @property
    def log(self) -> Path:
        return self.directory / "log"

    @contextmanager
    def worker(self) -> Iterator[Worker]:
        """Run the competitor's worker until the block ends."""
        with ExitStack() as stack:
            commands = self.competitor.work(self.load)
            yield Worker(
                [stack.enter_context(running(each, self.settings, self.log)) for each in commands]
            )

    def produce(self, how: str, *words: object) -> dict[str, float]:
        """Run the competitor's producer and return the figures that it reports."""
        command = (*self.competitor.put, how, *(str(word) for word in words))
        with running(command, self.settings, self.log) as process:
            try:
                code = process.wait(TIMEOUT * 3)
            except subprocess.TimeoutExpired:
                code = -1
        if code:
            raise self.failure("the producer did not finish")
        found: dict[str, float] = json.loads((self.directory / "produced").read_text())
        return found

    def fill(self, task: str, count: int, seconds: float) -> int:
        """Put this many jobs, or as many as the time allows; return their number."""
        return int(self.produce("fill", task, count, seconds)["jobs"])

    def lines(self, name: str) -> list[str]:
        """Return the complete lines of a report; the last line may be incomplete."""
        path = self.directory / name
        text = path.read_text() if path.exists() else ""
        return [line for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def wait(self, condition: Callable[[], bool], otherwise: str, patience: float) -> None:
        if not self.waited(condition, patience):
            raise self.failure(otherwise)

    def waited(self, condition: Callable[[], bool], patience: float, every: float = POLL) -> bool:
        """Return whether the condition became true in time."""
        deadline = time.monotonic() + patience
        while not condition():
            if time.monotonic() > deadline:
                return False
            if stopped.wait(every):
                raise self.failure("stopped")
        return True

    def failure(self, text: str) -> NotMeasured:
        return NotMeasured(f"{text}\n{server_process.tail(self.log)}")

    def counted(self) -> int:
        """Return the number of jobs counted so far.

        This method runs during measurements, so it must be cheap.
        """
        return sum(_filled(path) for path in self.directory.glob("*.times"))

    def times(self) -> list[list[float]]:
        """Return the times of counted jobs per process, without processes that counted none."""
        found = [_times(path) for path in self.directory.glob("*.times")]
        return [times for times in found if times]


def _filled(path: Path) -> int:
    """Return the index of the first zero."""
    with path.open("rb") as file:
        if not path.stat().st_size:
            return 0
        seen = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with seen, memoryview(seen) as raw, raw.cast("d") as times:
        low, high = 0, len(times)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if times[middle] else (low, middle)
        return low


def _times(path: Path) -> list[float]:
    raw = path.read_bytes()
    return sorted(at for at in memoryview(raw).cast("d") if at)
