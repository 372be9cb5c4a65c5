"""The environment of a demo: the embedded server, a separate namespace, and workers."""

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

from headrace.cli.changing import handled
from headrace.demo import NAMESPACE, NAMESPACE_VARIABLE
from headrace.engine.shard import key_pattern
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
    """A server and an empty namespace. The lock keeps other demos out of the namespace."""

    directory: Path
    url: str = field(repr=False)
    namespace: str
    lock: IO[bytes]

    @property
    def lake(self) -> Path:
        """The directory of the lake."""
        return self.directory / f"{self.namespace}-lake"

    @property
    def picture(self) -> Path:
        """The image file of the plot."""
        return self.directory / f"{self.namespace}.png"

    def variables(self) -> dict[str, str]:
        """Return the environment variables that connect the demo's app to this namespace."""
        return {"HEADRACE_URL": self.url, NAMESPACE_VARIABLE: self.namespace}


@contextmanager
def open_environment(directory: Path) -> Iterator[DemoEnvironment]:
    """Start the embedded server, and empty a namespace that no other demo is using.

    The server keeps running after the demo. After an error, the demo stops a server that it
    has started, unless another client is connected.
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
    """Lock the first namespace that neither a demo nor a worker of a demo has locked."""
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
    with Redis.from_url(environment.url) as server:
        pattern = key_pattern(environment.namespace)
        found = list(server.scan_iter(match=pattern, count=KEYS_PER_CALL))
        for part in chunks(found, KEYS_PER_CALL):
            server.unlink(*part)


def _is_used(directory: Path) -> bool:
    status = embedded.status(directory)
    if status is None:
        return False
    with suppress(RedisError), Redis.from_url(status.url) as server:
        return int(server.info("clients")["connected_clients"]) > 1
    return False


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
                env=os.environ | self.environment.variables(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Workers inherit the lock, so that the namespace stays locked even if the demo is
                # killed.
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
    workers = DemoWorkers(environment, environment.directory / f"{environment.namespace}.log")
    workers.log.unlink(missing_ok=True)
    try:
        yield workers
    finally:
        with interrupts_delayed():
            workers.end()


@contextmanager
def interrupts_delayed() -> Iterator[None]:
    """Delay the KeyboardInterrupt of a Ctrl-C until the end of the block."""
    received: list[int] = []
    with handled(lambda number, _: received.append(number), signal.SIGINT):
        yield
    if received:
        raise KeyboardInterrupt
