"""The environment of a demo: the embedded server, the namespace of the shop, and workers."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from redis import Redis

from headrace.cli.bulk_changes import interrupts_delayed
from headrace.demo import NAMESPACE
from headrace.engine.shard import key_pattern
from headrace.errors import HeadraceError
from headrace.local_server import embedded
from headrace.operations.batches import chunks

KEYS_PER_CALL = 1000
WORK = ["work", "headrace.demo.shop:app", "-c", "24", "-q"]
QUEUES = "orders:4,mail:3,invoices:3,pictures:4,office:1"
# Kill a worker that still runs this many seconds after SIGTERM.
END_TIMEOUT = 5.0
PROGRAM = "from headrace.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class DemoEnvironment:
    """A server whose namespace `demo-shop` is empty. The lock keeps other demos out."""

    directory: Path
    url: str = field(repr=False)
    lock: IO[bytes]

    @property
    def lake(self) -> Path:
        """The directory of the lake."""
        return self.directory / f"{NAMESPACE}-lake"

    @property
    def picture(self) -> Path:
        """The image file of the plot."""
        return self.directory / f"{NAMESPACE}.png"


@contextmanager
def open_environment(directory: Path) -> Iterator[DemoEnvironment]:
    """Start the embedded server, and delete the data of an earlier demo.

    The server keeps running after the demo. After an error, the demo stops a server that it has
    started. Raises HeadraceError if another demo uses the directory.
    """
    ran_before = embedded.status(directory) is not None
    url = embedded.start(directory)
    with (directory / f"{NAMESPACE}.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeadraceError(
                f"another demo is running in {directory}: wait until that demo ends; if that demo "
                "was killed, kill its worker processes"
            ) from None
        environment = DemoEnvironment(directory, url, lock)
        try:
            _empty(environment)
            yield environment
        except BaseException:
            if not ran_before:
                embedded.stop(directory)
            raise


def _empty(environment: DemoEnvironment) -> None:
    """Delete the data of an earlier demo."""
    shutil.rmtree(environment.lake, ignore_errors=True)
    with Redis.from_url(environment.url) as server:
        found = list(server.scan_iter(match=key_pattern(NAMESPACE), count=KEYS_PER_CALL))
        for part in chunks(found, KEYS_PER_CALL):
            server.unlink(*part)


@dataclass(frozen=True, slots=True)
class DemoWorker:
    """A `headrace work` process and its child process."""

    number: int
    process: subprocess.Popen[bytes]

    def is_named(self, worker: str) -> bool:
        """Return whether the worker with this name belongs to this process."""
        return f"-{self.process.pid}-" in worker

    def kill(self) -> None:
        """Kill the process and its child at the same time, as a power failure would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass(slots=True)
class DemoWorkers:
    """All workers that the demo has started, including dead workers."""

    environment: DemoEnvironment
    log: Path
    started: list[DemoWorker] = field(default_factory=list)

    def start(self) -> DemoWorker:
        """Start another worker."""
        with interrupts_delayed(), self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *WORK, QUEUES],
                env=os.environ | {"HEADRACE_URL": self.environment.url},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Workers inherit the lock. If the demo is killed, its workers keep the lock.
                pass_fds=[self.environment.lock.fileno()],
                process_group=0,
            )
            self.started.append(DemoWorker(len(self.started) + 1, process))
        return self.started[-1]

    def end(self) -> None:
        """Stop the running workers with SIGTERM, and with SIGKILL if they do not exit in time."""
        living = [worker for worker in self.started if worker.process.poll() is None]
        for worker in living:
            with suppress(ProcessLookupError):
                os.killpg(worker.process.pid, signal.SIGTERM)
        for worker in living:
            try:
                worker.process.wait(END_TIMEOUT)
            except subprocess.TimeoutExpired:
                worker.kill()


@contextmanager
def hired_workers(environment: DemoEnvironment) -> Iterator[DemoWorkers]:
    """Yield an object that starts workers, and stop the workers afterwards."""
    workers = DemoWorkers(environment, environment.directory / f"{NAMESPACE}.log")
    workers.log.unlink(missing_ok=True)
    try:
        yield workers
    finally:
        with interrupts_delayed():
            workers.end()
