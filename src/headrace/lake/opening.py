"""Open or create the lake of a namespace."""

from __future__ import annotations

from contextlib import suppress

from headrace.client.client import Client
from headrace.errors import LakeRefused
from headrace.lake.files import Files
from headrace.lake.lake import Lake, LakeExists, LakeNotFound
from headrace.operations.event_log import logs
from headrace.transport.drive import drive


def open_lake(files: Files, client: Client) -> Lake:
    """Open the lake in these files, or create it, for the namespace of the client.

    Raises LakeRefused if the lake belongs to another namespace or server.
    """
    lake = _open_or_create(files, client.core.namespace, _started(client))
    check_owner(lake, client)
    return lake


def check_owner(lake: Lake, client: Client) -> None:
    """Raise LakeRefused if the lake does not belong to the namespace of the client."""
    namespace = client.core.namespace
    if lake.identity.namespace != namespace:
        raise LakeRefused(
            lake.identity.id,
            f"the lake in {lake.files} has the events of namespace {lake.identity.namespace!r}, "
            f"not of {namespace!r}: use a separate lake for each namespace",
        )
    if lake.identity.logs != _started(client):
        raise LakeRefused(
            lake.identity.id,
            f"the lake in {lake.files} has the events of another server, or of namespace "
            f"{namespace!r} before it was deleted and recreated: use a new lake",
        )


def _started(client: Client) -> tuple[int, ...]:
    return tuple(log.begun_ms for log in drive(client.core.transport, logs(client.core)))


def _open_or_create(files: Files, namespace: str, started: tuple[int, ...]) -> Lake:
    with suppress(LakeNotFound):
        return Lake.open(files)
    with suppress(LakeExists):
        return Lake.create(files, namespace, started)
    return Lake.open(files)
