"""From the options of a command to a client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from headrace.cli.server import HERE
from headrace.errors import HeadraceError, InvalidArgument, JobNotFound, QueueNotFound

if TYPE_CHECKING:
    from headrace import Client, Job, Queue
    from headrace.operations.core import Core

# Who types a command sees that nothing happens, and can type it again.
RETRY_FOR = 3.0
TIMEOUT = 5.0


class NoNamespace(HeadraceError):
    """There is nothing to look at: a namespace is made by who puts, configures or works."""


@contextmanager
def opened(url: str | None, namespace: str, *, make: bool = False) -> Iterator[Client]:
    """A client for one command; who only looks makes no namespace."""
    try:
        client = _client(url or None, namespace, make=make)
    except InvalidArgument as error:
        if "@" in (url or "") and "URL" in str(error):
            # What cannot be read may be a part of the password.
            raise InvalidArgument(
                "the URL cannot be read; it is redis://user:password@host:port/database, and what "
                "is special in user and password is percent-encoded"
            ) from None
        raise
    with client:
        yield client


def _client(url: str | None, namespace: str, *, make: bool) -> Client:
    from headrace.client import connect  # noqa: PLC0415  redis takes long to load

    asked = connect.wanted(url, namespace, None, "json", None, None, RETRY_FOR, TIMEOUT)
    if not make and url is None and not HERE.exists():
        raise NoNamespace(
            "no server has been used in this directory; --url or HEADRACE_URL says where one is, "
            "and headrace up starts one here"
        )
    core = connect.reach(asked)
    try:
        if not make:
            _check_there(core)
        return connect.opened(core, asked)
    except BaseException:
        core.transport.close()
        raise


def _check_there(core: Core) -> None:
    from headrace.operations.namespace import is_there  # noqa: PLC0415
    from headrace.transport.drive import drive  # noqa: PLC0415

    if not drive(core.transport, is_there(core)):
        raise NoNamespace(
            f"there is no namespace {core.namespace!r} on this server; -n or HEADRACE_NAMESPACE "
            "says which is meant, and the first put makes one"
        )


def existing(client: Client, name: str) -> Queue:
    """The queue of this name, if it has been used."""
    from headrace.engine.call import build  # noqa: PLC0415
    from headrace.operations.queues import check_name  # noqa: PLC0415
    from headrace.operations.requests import ask  # noqa: PLC0415  redis takes long to load
    from headrace.transport.drive import drive  # noqa: PLC0415  redis takes long to load

    core = client.core
    call = build("counts", list, [(check_name(core, name),)])
    replies = drive(core.transport, ask(core, [(shard, call) for shard in range(core.shards)]))
    if not any(exists for [[exists, *_]] in replies):
        raise QueueNotFound(name)
    return client.queue(name)


def existing_job(client: Client, job_id: str) -> Job:
    """The job of this id."""
    found = client.job(job_id)
    if found is None:
        raise JobNotFound(job_id)
    return found


def server_time(client: Client) -> datetime:
    """What the clock of the server says."""
    from headrace.engine.timestamps import moment  # noqa: PLC0415
    from headrace.operations.requests import raw  # noqa: PLC0415
    from headrace.transport.drive import drive  # noqa: PLC0415

    [[whole, micros]] = drive(client.core.transport, raw(client.core, [(0, ("TIME",))]))
    return moment(int(whole) * 1000 + int(micros) / 1000)
