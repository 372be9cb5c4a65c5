"""The servers of trials: private, without persistence, on loopback, and empty at the start."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import redis

from benchmarks.comparison.processes import cpu_seconds, memory_mib, running
from headrace.local_server.scratch import private_server

HOST = "127.0.0.1"
TIMEOUT = 10.0


class Server(Protocol):
    """The operations that the comparison needs from a server."""

    url: str

    def clear(self) -> None:
        """Delete all data."""

    def cpu(self) -> float:
        """Return the CPU time so far, in seconds."""

    def memory(self) -> int:
        """Return the memory in use, in bytes."""


class Valkey:
    """A Valkey over TCP."""

    def __init__(self, url: str) -> None:
        self.url = url

    def clear(self) -> None:
        with redis.Redis.from_url(self.url, socket_timeout=60) as server:
            server.execute_command("FLUSHALL", "SYNC")
            # The server would garbage-collect the scripts of earlier trials during this trial.
            server.execute_command("SCRIPT", "FLUSH", "SYNC")

    def cpu(self) -> float:
        found = self.info("cpu")
        return float(found["used_cpu_user"] + found["used_cpu_sys"])

    def memory(self) -> int:
        return int(self.info("memory")["used_memory"])

    def version(self) -> str:
        found = self.info("server")
        name = found.get("server_name", "redis")
        return f"{name} {found.get(f'{name}_version')}"

    def info(self, section: str) -> Any:
        with redis.Redis.from_url(self.url) as server:
            return server.info(section)


class Beanstalkd:
    """A beanstalkd; it has no command that deletes all data, so each trial starts a new one."""

    def __init__(self, stack: ExitStack, directory: Path) -> None:
        self.port = free_port()
        self.url = f"beanstalk://{HOST}:{self.port}"
        self.log = directory / "beanstalkd.log"
        self.running = stack.enter_context(ExitStack())
        self.pid = 0

    def clear(self) -> None:
        self.running.close()
        command = ("beanstalkd", "-l", HOST, "-p", str(self.port))
        self.pid = self.running.enter_context(running(command, {}, self.log)).pid
        deadline = time.monotonic() + TIMEOUT
        while not self._answers() and time.monotonic() < deadline:
            time.sleep(0.01)

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection((HOST, self.port), 1):
            return True
        return False

    def cpu(self) -> float:
        return cpu_seconds(self.pid)

    def memory(self) -> int:
        """Return the resident memory, because beanstalkd does not report its memory in use."""
        return int(memory_mib(self.pid)[1] * 1024**2)


@contextmanager
def valkey() -> Iterator[Valkey]:
    port = free_port()
    with private_server("--port", str(port), "--bind", HOST):
        yield Valkey(f"redis://{HOST}:{port}")


@contextmanager
def private(kind: str, directory: Path) -> Iterator[Server]:
    """Run a server for a single trial."""
    with servers(directory) as found:
        found[kind].clear()
        yield found[kind]


@contextmanager
def servers(directory: Path) -> Iterator[dict[str, Server]]:
    """Run one server of each kind; `clear` starts the beanstalkd."""
    with ExitStack() as stack:
        yield {
            "valkey": stack.enter_context(valkey()),
            "beanstalkd": Beanstalkd(stack, directory),
        }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
