"""The server of a turn: private, forgetful, on loopback, and empty when the turn begins."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import redis

from benchmarks.field.processes import cpu_seconds, memory_mib, running
from headrace.local_server.scratch import private_server

HOST = "127.0.0.1"
PATIENCE = 10.0


class Server(Protocol):
    """What the benchmark asks of a server."""

    url: str

    def clear(self) -> None:
        """Forget everything."""

    def cpu(self) -> float:
        """Seconds of processor time until now."""

    def memory(self) -> int:
        """Bytes in use."""


class Valkey:
    """A Valkey over TCP."""

    def __init__(self, url: str) -> None:
        self.url = url

    def clear(self) -> None:
        with redis.Redis.from_url(self.url, socket_timeout=60) as server:
            server.execute_command("FLUSHALL", "SYNC")
            # What scripts others have left there would be collected in everybody's time.
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
    """A beanstalkd, which has no word for forgetting everything: a new one for every turn."""

    def __init__(self, stack: ExitStack, home: Path) -> None:
        self.port = free_port()
        self.url = f"beanstalk://{HOST}:{self.port}"
        self.log = home / "beanstalkd.log"
        self.running = stack.enter_context(ExitStack())
        self.pid = 0

    def clear(self) -> None:
        self.running.close()
        command = ("beanstalkd", "-l", HOST, "-p", str(self.port))
        self.pid = self.running.enter_context(running(command, {}, self.log)).pid
        deadline = time.monotonic() + PATIENCE
        while not self._answers() and time.monotonic() < deadline:
            time.sleep(0.01)

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection((HOST, self.port), 1):
            return True
        return False

    def cpu(self) -> float:
        return cpu_seconds(self.pid)

    def memory(self) -> int:
        """What is resident: it does not say what it uses."""
        return int(memory_mib(self.pid)[1] * 1024**2)


@contextmanager
def valkey() -> Iterator[Valkey]:
    port = free_port()
    with private_server("--port", str(port), "--bind", HOST):
        yield Valkey(f"redis://{HOST}:{port}")


@contextmanager
def private(kind: str, home: Path) -> Iterator[Server]:
    """One for a single turn."""
    with servers(home) as found:
        found[kind].clear()
        yield found[kind]


@contextmanager
def servers(home: Path) -> Iterator[dict[str, Server]]:
    """One of each kind; beanstalkd is started when it is cleared."""
    with ExitStack() as stack:
        yield {
            "valkey": stack.enter_context(valkey()),
            "beanstalkd": Beanstalkd(stack, home),
        }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
