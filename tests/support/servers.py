"""Real servers for tests, on loopback or unix sockets. A server stops at the end of its block.

No server outlives the test process, even if the process is killed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import redis

from headrace.errors import EmbeddedServerError
from headrace.local_server import server_process
from headrace.local_server.scratch import (
    NO_PERSISTENCE,
    private_server,
    running_server,
    scratch_directory,
)

HOST = "127.0.0.1"
SLOTS = 16384
# Options for a node of a Cluster. The primary starts a sync without waiting for more replicas.
CLUSTER_NODE = ("--cluster-enabled", "yes", "--repl-diskless-sync-delay", "0")
# Options for a server without server functions, such as Redis 6.
WITHOUT_FUNCTIONS = tuple(
    word
    for command in ("FUNCTION", "FCALL", "FCALL_RO")
    for word in ("--rename-command", command, "")
)
TRIES = 5


def until(condition: Callable[[], bool], what: str, patience: float = 20.0) -> None:
    """Wait until `condition` holds."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"timed out after {patience:g} seconds, waiting until {what}")
        time.sleep(0.01)


def redis_server_path() -> Path | None:
    """Return the path of the Redis server of this machine; None if it has none."""
    found = shutil.which("redis-server")
    return Path(found) if found else None


@contextmanager
def valkey() -> Iterator[str]:
    """Start a private Valkey; yield its URL."""
    with private_server() as url:
        yield url


@contextmanager
def redis7() -> Iterator[str | None]:
    """Start a private Redis; yield its URL, or None if this machine has none."""
    binary = redis_server_path()
    if binary is None:
        yield None
        return
    with private_server(binary=binary) as url:
        yield url


@contextmanager
def cluster(primaries: int = 3, binary: Path | None = None) -> Iterator[str]:
    """Start a Cluster that serves every slot; yield the URL of one node."""
    with ExitStack() as servers:
        nodes = [listen(servers, binary, *CLUSTER_NODE) for _ in range(primaries)]
        _share_slots(nodes)
        until(lambda: all(is_whole(node, primaries) for node in nodes), "the Cluster is whole")
        yield f"redis://{HOST}:{nodes[0]}"


def _share_slots(nodes: Sequence[int]) -> None:
    bounds = [SLOTS * number // len(nodes) for number in range(len(nodes) + 1)]
    for number, node in enumerate(nodes):
        _order(node, "CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
        first, last = bounds[number], bounds[number + 1] - 1
        _order(node, "CLUSTER", "ADDSLOTSRANGE", str(first), str(last))
        _order(nodes[0], "CLUSTER", "MEET", HOST, str(node))


def _order(port: int, *command: str) -> None:
    reply = server_process.ask((HOST, port), *command)
    assert reply == "+OK", f"{' '.join(command)}: {reply}"


def is_whole(node: int, primaries: int) -> bool:
    """Return whether a node knows the owners of all slots, this many primaries."""
    found = server_process.ask((HOST, node), "CLUSTER", "INFO")
    return "cluster_state:ok" in found and f"cluster_size:{primaries}\r" in found


@dataclass(frozen=True, slots=True)
class Sentinel:
    """A Sentinel that watches a primary with one replica."""

    host: str
    port: int
    service: str
    primary: int
    replica: int

    def primary_pid(self) -> int:
        """Return the process id of the first primary."""
        found = server_process.ask((HOST, self.primary), "INFO", "server")
        pid = next(line for line in found.splitlines() if line.startswith("process_id:"))
        return int(pid.partition(":")[2])

    def has_promoted_replica(self) -> bool:
        """Return whether the Sentinel names the replica as the primary."""
        with redis.Redis(self.host, self.port, decode_responses=True) as watching:
            found = watching.execute_command("SENTINEL MASTERS")
        return self.replica in [int(master["port"]) for master in found.values()]

    def kill_primary(self) -> None:
        """End the first primary with kill -9."""
        os.kill(self.primary_pid(), signal.SIGKILL)
        until(lambda: server_process.ping((HOST, self.primary)) is None, "the primary is dead")


@contextmanager
def sentinel(service: str = "headrace", binary: Path | None = None) -> Iterator[Sentinel]:
    """Start a primary, its replica, and a Sentinel that watches both."""
    with ExitStack() as servers:
        primary = listen(servers, binary, "--repl-diskless-sync-delay", "0")
        replica = listen(servers, binary, "--replicaof", f"{HOST} {primary}")
        until(lambda: is_online(replica), "the replica has its data")
        port = _listen_as_sentinel(servers, binary, service, primary)
        known = f"name={service},status=ok,address={HOST}:{primary},slaves=1"
        until(lambda: _says(port, "sentinel", known), "the Sentinel knows the replica")
        yield Sentinel(HOST, port, service, primary, replica)


def _listen_as_sentinel(servers: ExitStack, binary: Path | None, service: str, primary: int) -> int:
    settings = servers.enter_context(scratch_directory()) / "sentinel.conf"
    settings.write_text(
        f"sentinel monitor {service} {HOST} {primary} 1\n"
        f"sentinel down-after-milliseconds {service} 500\n"
        f"sentinel failover-timeout {service} 2000\n"
    )
    return listen(servers, binary, "--sentinel", settings=settings)


def is_online(replica: int) -> bool:
    """Return whether a replica has the data of its primary and is connected to it."""
    return _says(replica, "replication", "link_status:up")


def _says(port: int, section: str, words: str) -> bool:
    return words in server_process.ask((HOST, port), "INFO", section)


@dataclass(frozen=True, slots=True)
class TlsServer:
    """A TLS server with one user and the user's password."""

    url: str
    ca: Path


@contextmanager
def tls_server(rights: str = "~* &* +@all") -> Iterator[TlsServer | None]:
    """Start a TLS server with an ACL user of these rights; yield None if no binary supports TLS."""
    with ExitStack() as servers:
        papers = servers.enter_context(scratch_directory())
        _write_certificates(papers)
        acl = papers / "users.acl"
        acl.write_text(f"user default off\nuser headrace on >secret {rights}\n")
        options = (
            *("--tls-cert-file", str(papers / "server.crt")),
            *("--tls-key-file", str(papers / "server.key")),
            *("--tls-ca-cert-file", str(papers / "ca.crt")),
            *("--tls-auth-clients", "no"),
            *("--aclfile", str(acl)),
        )
        port = _listen_with_tls(servers, options)
        url = f"rediss://headrace:secret@{HOST}:{port}"
        yield TlsServer(url, papers / "ca.crt") if port else None


def _listen_with_tls(servers: ExitStack, options: Sequence[str]) -> int | None:
    for binary in (server_process.binary(), redis_server_path()):
        with suppress(EmbeddedServerError):
            if binary:
                return listen(servers, binary, *options, port_option="--tls-port")
    return None


def _write_certificates(papers: Path) -> None:
    def openssl(command: str) -> None:
        subprocess.run(["openssl", *command.split()], cwd=papers, check=True, capture_output=True)

    (papers / "names").write_text(f"subjectAltName=IP:{HOST},DNS:localhost\n")
    key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    openssl(f"req -x509 {key} -subj /CN=headrace-tests -days 2 -keyout ca.key -out ca.crt")
    openssl(f"req {key} -subj /CN=localhost -keyout server.key -out server.csr")
    openssl(
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial "
        "-days 2 -extfile names -out server.crt"
    )


def listen(
    servers: ExitStack,
    binary: Path | None,
    *options: str,
    settings: Path | None = None,
    port_option: str = "--port",
) -> int:
    """Start a server that runs until `servers` closes; return its port."""
    command = [str(binary or server_process.binary()), *([str(settings)] if settings else [])]
    if port_option != "--port":
        command += ["--port", "0"]
    command += [
        "--bind",
        HOST,
        "--unixsocket",
        server_process.SOCKET,
        *NO_PERSISTENCE,
        *options,
        port_option,
    ]
    for _ in range(TRIES - 1):
        with suppress(EmbeddedServerError):
            return _listen(servers, command, _free_port())
    return _listen(servers, command, _free_port())


def _listen(servers: ExitStack, command: Sequence[str], port: int) -> int:
    home = servers.enter_context(scratch_directory())
    # Wait on the Unix socket, which the server opens after the port. On the port, another process
    # might answer.
    servers.enter_context(running_server(home, [*command, str(port)], home / server_process.SOCKET))
    return port


def _free_port() -> int:
    """Return a free port whose port for the Cluster bus, 10,000 higher, is free too.

    Both are below the range from which the system takes the ports of outgoing connections.
    """
    while True:
        port = random.randrange(10_000, 22_000)
        if _is_free(port) and _is_free(port + 10_000):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe, suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return True
    return False


def listens_on(port: int, address: str) -> bool:
    """Return whether a process accepts connections to this port of this address."""
    try:
        socket.create_connection((address, port), timeout=10).close()
    except ConnectionRefusedError:
        return False
    return True
