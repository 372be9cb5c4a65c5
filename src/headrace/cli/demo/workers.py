"""The workers of a demo: `headrace work` processes, ended with it whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from headrace.cli.demo.place import Place

APP = "headrace.demo.shop:app"
QUEUES = "orders:4,mail:3,invoices:3,pictures:4,office:1"
CONCURRENCY = 24
# What is told to end and does not is killed.
PATIENCE = 5.0
PROGRAM = "from headrace.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class WorkerProgram:
    """A running `headrace work`, with the process that it has forked."""

    number: int
    process: subprocess.Popen[bytes]

    def names(self, worker: str) -> bool:
        """Whether this is what a worker of it is called."""
        return f"-{self.process.pid}-" in worker

    def kill(self) -> None:
        """Ends all of its processes in one instant, as if their machine had lost power."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """Tells it to end what runs, and then itself."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)


@dataclass(slots=True)
class Workers:
    """Those that were started, dead ones too."""

    place: Place
    log: Path
    started: list[WorkerProgram] = field(default_factory=list)

    def start(self) -> WorkerProgram:
        """One more."""
        with uninterrupted(), self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *arguments()],
                env=os.environ | self.place.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # They hold the namespace as long as they live, even if this process is killed.
                pass_fds=[self.place.lock.fileno()],
                process_group=0,
            )
            self.started.append(WorkerProgram(len(self.started) + 1, process))
        return self.started[-1]

    def end(self) -> None:
        """Ends those that live: gently, then by force."""
        living = [worker for worker in self.started if worker.process.poll() is None]
        for worker in living:
            worker.end()
        for worker in living:
            try:
                worker.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                worker.kill()


def arguments() -> list[str]:
    """What is typed to start such a worker."""
    return ["work", APP, "-c", str(CONCURRENCY), "-q", QUEUES]


@contextmanager
def hired(place: Place) -> Iterator[Workers]:
    """Workers that are gone afterwards."""
    workers = Workers(place, place.directory / f"{place.namespace}.log")
    workers.log.unlink(missing_ok=True)
    try:
        yield workers
    finally:
        with uninterrupted():
            workers.end()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C comes a moment later: not between what must be done together."""
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
