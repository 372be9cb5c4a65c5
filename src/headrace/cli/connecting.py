"""Open a client for one command, with the values of --url and --namespace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from headrace import Client, Queue
from headrace.client import connect
from headrace.engine.call import build
from headrace.engine.timestamps import moment
from headrace.errors import HeadraceError, QueueNotFound
from headrace.local_server.private_directory import NAME
from headrace.operations.namespace import namespace_exists
from headrace.operations.namespace_snapshot import read_time
from headrace.operations.queues import check_name
from headrace.operations.requests import ask, raw
from headrace.transport.drive import drive

# The directory of the embedded server's data.
HERE = Path(NAME)
# A user at a terminal can repeat a failed command, so commands retry only briefly.
RETRY_FOR = 3.0
TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The server and the namespace of a command. The default is the embedded server."""

    url: str | None = field(repr=False)
    namespace: str


class NoNamespace(HeadraceError):
    """The namespace or the embedded server does not exist, and this command creates neither."""


@contextmanager
def open_client(server: ServerOptions, *, create: bool = False) -> Iterator[Client]:
    """Open a client for one command.

    Raises NoNamespace if the namespace does not exist, unless `create` is true.
    """
    wanted = connect.ConnectOptions(
        server.url, server.namespace, retry_for=RETRY_FOR, timeout=TIMEOUT
    )
    if not create and server.url is None and not HERE.exists():
        raise NoNamespace(
            "this directory has no embedded server; pass --url, set HEADRACE_URL, or start a "
            "server here with headrace up"
        )
    with ExitStack() as opened:
        core = connect.connect_core(wanted)
        opened.callback(core.transport.close)
        if not create and not drive(core.transport, namespace_exists(core)):
            raise NoNamespace(
                f"there is no namespace {core.namespace!r} on this server; pass -n or set "
                "HEADRACE_NAMESPACE; the first put creates a namespace"
            )
        yield opened.enter_context(connect.open_client(core, wanted))


def existing_queue(client: Client, name: str) -> Queue:
    """Return a queue. Raises QueueNotFound if the queue never had a job or a setting."""
    core = client.core
    call = build("counts", list, [(check_name(core, name),)])
    replies = drive(core.transport, ask(core, [(shard, call) for shard in range(core.shards)]))
    if not any(exists for [[exists, *_]] in replies):
        raise QueueNotFound(name)
    return client.queue(name)


def server_time(client: Client) -> datetime:
    """Return the time of the server's clock."""
    [reply] = drive(client.core.transport, raw(client.core, [(0, ("TIME",))]))
    return moment(read_time(reply))
