"""The environment of a demo: the embedded server, a namespace of its own, and workers."""

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
from itertools import count
from pathlib import Path
from typing import IO

from redis import Redis, RedisError

from headrace.demo import NAMESPACE, NAMESPACE_VARIABLE
from headrace.engine.shard import prefix
from headrace.local_server import embedded

KEYS_PER_CALL = 1000
WORK = ["work", "headrace.demo.shop:app", "-c", "24", "-q"]
QUEUES = "orders:4,mail:3,invoices:3,pictures:4,office:1"
# Kill a worker that has not ended this many seconds after SIGTERM.
END_TIMEOUT = 5.0
PROGRAM = "from headrace.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class DemoEnvironment:
    """A server and an empty namespace, reserved as long as the lock is held."""

    directory: Path
    url: str
    namespace: str
    lock: IO[bytes]

    @property
    def lake(self) -> Path:
        """The directory of the lake."""
        return self.directory / f"{self.namespace}-lake"

    @property
    def picture(self) -> Path:
        """The file of the plot."""
        return self.directory / f"{self.namespace}.png"

    def variables(self) -> dict[str, str]:
        """Return the environment variables that connect the demo's app to this server."""
        return {"HEADRACE_URL": self.url, NAMESPACE_VARIABLE: self.namespace}


@contextmanager
def open_environment(directory: Path) -> Iterator[DemoEnvironment]:
    """Start the embedded server and empty a free namespace. The server keeps running.

    After an error, the server is stopped if the demo has started it and no other client uses it.
    """
    ran_before = embedded.status(directory) is not None
    try:
        url = embedded.start(directory)
        with _free_namespace(directory) as (namespace, lock):
            environment = DemoEnvironment(directory, url, namespace, lock)
            _empty(environment)
            yield environment
    except BaseException:
        if not ran_before and not _is_used(directory):
            embedded.stop(directory)
        raise


@contextmanager
def _free_namespace(directory: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Lock the first namespace that neither a demo nor a worker left over from one holds."""
    for number in count(1):
        name = NAMESPACE if number == 1 else f"{NAMESPACE}-{number}"
        with (directory / f"{name}.lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield name, lock
            return


def _empty(environment: DemoEnvironment) -> None:
    """Delete the data of an earlier demo."""
    shutil.rmtree(environment.lake, ignore_errors=True)
    pattern = f"{prefix(environment.namespace, 0).partition(':0}')[0]}:*"
    with Redis.from_url(environment.url) as server:
        keys = list(server.scan_iter(match=pattern, count=KEYS_PER_CALL))
        for first in range(0, len(keys), KEYS_PER_CALL):
            server.unlink(*keys[first : first + KEYS_PER_CALL])


def _is_used(directory: Path) -> bool:
    status = embedded.status(directory)
    if status is None:
        return False
    with suppress(RedisError), Redis.from_url(status.url) as server:
        return int(server.info("clients")["connected_clients"]) > 1
    return False


@dataclass(frozen=True, slots=True)
class DemoWorker:
    """A `headrace work` process and its child."""

    number: int
    process: subprocess.Popen[bytes]

    def is_named(self, worker: str) -> bool:
        """Return whether a worker name belongs to this process."""
        return f"-{self.process.pid}-" in worker

    def kill(self) -> None:
        """Kill all its processes at once, like a power failure."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass(slots=True)
class DemoWorkers:
    """All workers that were started, including dead ones."""

    environment: DemoEnvironment
    log: Path
    started: list[DemoWorker] = field(default_factory=list)

    def start(self) -> DemoWorker:
        """Start another worker."""
        with interrupts_delayed(), self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *WORK, QUEUES],
                env=os.environ | self.environment.variables(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Workers hold the lock of the namespace even if this process is killed.
                pass_fds=[self.environment.lock.fileno()],
                process_group=0,
            )
            self.started.append(DemoWorker(len(self.started) + 1, process))
        return self.started[-1]

    def end(self) -> None:
        """Stop the running workers with SIGTERM, then with SIGKILL."""
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
    """Yield workers, and end them afterwards."""
    workers = DemoWorkers(environment, environment.directory / f"{environment.namespace}.log")
    workers.log.unlink(missing_ok=True)
    try:
        yield workers
    finally:
        with interrupts_delayed():
            workers.end()


@contextmanager
def interrupts_delayed() -> Iterator[None]:
    """Raise KeyboardInterrupt for a Ctrl-C only after the block."""
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received:
        raise KeyboardInterrupt
