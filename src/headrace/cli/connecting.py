"""Open a client for one command from --url and --namespace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from headrace import Client, Job, Queue
from headrace.client import connect
from headrace.engine.call import build
from headrace.engine.timestamps import moment
from headrace.errors import HeadraceError, InvalidArgument, JobNotFound, QueueNotFound
from headrace.operations.core import Core
from headrace.operations.namespace import namespace_exists
from headrace.operations.queues import check_name
from headrace.operations.requests import ask, raw
from headrace.operations.snapshot import read_time
from headrace.transport.drive import drive

# The directory of the embedded server.
HERE = Path(".headrace")
# A user at a terminal notices a failed command and can repeat it, so commands retry briefly.
RETRY_FOR = 3.0
TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The server and the namespace that a command uses. Without a URL: the embedded server."""

    url: str | None
    namespace: str


class NoNamespace(HeadraceError):
    """The namespace or the embedded server does not exist, and this command creates none."""


@contextmanager
def open_client(server: ServerOptions, *, create: bool = False) -> Iterator[Client]:
    """Open a client for one command.

    Raises NoNamespace if the namespace does not exist, unless `create` is true.
    """
    try:
        client = _client(server, create=create)
    except InvalidArgument as error:
        if "@" in (server.url or "") and "URL" in str(error):
            # The part that cannot be parsed may belong to the password, so do not repeat it.
            raise InvalidArgument(
                "invalid URL; write it as redis://user:password@host:port/database and "
                "percent-encode special characters in user and password"
            ) from None
        raise
    with client:
        yield client


def _client(server: ServerOptions, *, create: bool) -> Client:
    wanted = connect.ConnectOptions(
        server.url, server.namespace, retry_for=RETRY_FOR, timeout=TIMEOUT
    )
    if not create and server.url is None and not HERE.exists():
        raise NoNamespace(
            "no server has been used in this directory; pass --url or set HEADRACE_URL, or start "
            "one here with headrace up"
        )
    core = connect.connect_core(wanted)
    try:
        if not create:
            _check_namespace(core)
        return connect.open_client(core, wanted)
    except BaseException:
        core.transport.close()
        raise


def _check_namespace(core: Core) -> None:
    if not drive(core.transport, namespace_exists(core)):
        raise NoNamespace(
            f"there is no namespace {core.namespace!r} on this server; pass -n or set "
            "HEADRACE_NAMESPACE; the first put creates a namespace"
        )


def existing_queue(client: Client, name: str) -> Queue:
    """Return a queue. Raises QueueNotFound if no job or setting was ever stored in it."""
    core = client.core
    call = build("counts", list, [(check_name(core, name),)])
    replies = drive(core.transport, ask(core, [(shard, call) for shard in range(core.shards)]))
    if not any(exists for [[exists, *_]] in replies):
        raise QueueNotFound(name)
    return client.queue(name)


def existing_job(client: Client, job_id: str) -> Job:
    """Return a job. Raises JobNotFound if the server does not have it."""
    found = client.job(job_id)
    if found is None:
        raise JobNotFound(job_id)
    return found


def server_time(client: Client) -> datetime:
    """Return the time of the server's clock."""
    [reply] = drive(client.core.transport, raw(client.core, [(0, ("TIME",))]))
    return moment(read_time(reply))
