"""One contestant, once: a directory in which it says what it did, its producer, its worker."""

from __future__ import annotations

import json
import mmap
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.field.contestants import Contestant, Load
from benchmarks.field.processes import cpu_seconds, end, memory_mib, running, tree
from benchmarks.field.servers import Server
from headrace.local_server import server_process

PATIENCE = 60.0
POLL = 0.02


# Set when all turns have to end, also those in other threads.
stopped = threading.Event()


class NotMeasured(Exception):
    """A worker or a producer did not do what it should have done; the message says which."""


class Worker:
    """A running worker: one or more trees of processes."""

    def __init__(self, roots: list[subprocess.Popen[bytes]]) -> None:
        self.roots = roots
        self.pids = [root.pid for root in roots]

    def end(self) -> None:
        """Leave none of its processes."""
        for root in self.roots:
            end(root)

    def cpu(self) -> float:
        """Seconds of processor time until now."""
        return sum(cpu_seconds(pid) for pid in self.pids)

    def members(self) -> list[int]:
        """All its processes, parents first."""
        return [member for pid in self.pids for member in tree(pid)]

    def memory_mib(self) -> tuple[float, float]:
        """Pss and Rss of all its processes."""
        pss, rss = zip(*(memory_mib(pid) for pid in self.pids), strict=True)
        return sum(pss), sum(rss)


class Turn:
    """What a contestant is told, and what it tells."""

    def __init__(
        self, who: Contestant, server: Server, home: Path, jobs: int, load: Load | None = None
    ) -> None:
        self.who = who
        self.server = server
        self.home = home
        self.load = load or Load()
        self.settings = {
            **who.settings,
            "BENCH_URL": server.url,
            "BENCH_HOME": str(home),
            "BENCH_JOBS": str(jobs),
        }
        if self.load.concurrency:
            self.settings["BENCH_CONCURRENCY"] = str(self.load.concurrency)

    @property
    def log(self) -> Path:
        return self.home / "log"

    @contextmanager
    def worker(self) -> Iterator[Worker]:
        """Its worker, until the block ends."""
        with ExitStack() as stack:
            commands = self.who.work(self.load)
            yield Worker(
                [stack.enter_context(running(each, self.settings, self.log)) for each in commands]
            )

    def produce(self, how: str, *words: object) -> dict[str, float]:
        """Run its producer; what it says of itself."""
        command = (*self.who.put, how, *(str(word) for word in words))
        with running(command, self.settings, self.log) as process:
            try:
                code = process.wait(PATIENCE * 3)
            except subprocess.TimeoutExpired:
                code = -1
        if code:
            raise self.failure("the producer did not finish")
        found: dict[str, float] = json.loads((self.home / "produced").read_text())
        return found

    def fill(self, task: str, count: int, seconds: float) -> int:
        """Put so many jobs, or as many as there is time for."""
        return int(self.produce("fill", task, count, seconds)["jobs"])

    def lines(self, name: str) -> list[str]:
        """What was told line by line; the last line may be being written."""
        path = self.home / name
        text = path.read_text() if path.exists() else ""
        return [line for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def wait(self, condition: Callable[[], bool], otherwise: str, patience: float) -> None:
        if not self.waited(condition, patience):
            raise self.failure(otherwise)

    def waited(self, condition: Callable[[], bool], patience: float, every: float = POLL) -> bool:
        """Whether a condition came true in time."""
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
        """How many jobs were counted until now; cheap, as it is asked while others are measured."""
        return sum(_filled(path) for path in self.home.glob("*.times"))

    def times(self) -> list[list[float]]:
        """When jobs were counted, by process; without those that counted none."""
        found = [_times(path) for path in self.home.glob("*.times")]
        return [times for times in found if times]


def _filled(path: Path) -> int:
    """The first place that is still zero."""
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
