"""The lake for the events of a namespace: the one that is there, or a new one."""

from __future__ import annotations

from contextlib import suppress

from headrace.client.client import Client
from headrace.errors import LakeRefused
from headrace.lake.files import Files
from headrace.lake.lake import Lake, LakeExists, LakeNotFound
from headrace.operations.event_log import logs
from headrace.transport.drive import drive


def open_lake(files: Files, client: Client) -> Lake:
    """The lake that is there, or a new one; it must be of the namespace of the client."""
    lake = _found_or_made(files, client.core.namespace, _begun(client))
    check_whose(lake, client)
    return lake


def check_whose(lake: Lake, client: Client) -> None:
    """Raises LakeRefused if the lake is not that of the namespace of the client."""
    namespace = client.core.namespace
    if lake.identity.namespace != namespace:
        raise LakeRefused(
            lake.identity.id,
            f"the one in {lake.files} has the events of namespace {lake.identity.namespace!r}, "
            f"not of {namespace!r}: give each a lake of its own",
        )
    if lake.identity.logs != _begun(client):
        raise LakeRefused(
            lake.identity.id,
            f"the one in {lake.files} has the events of another server, or of namespace "
            f"{namespace!r} before it was made anew: give it a new lake",
        )


def _begun(client: Client) -> tuple[int, ...]:
    return tuple(log.begun_ms for log in drive(client.core.transport, logs(client.core)))


def _found_or_made(files: Files, namespace: str, begun: tuple[int, ...]) -> Lake:
    with suppress(LakeNotFound):
        return Lake.open(files)
    with suppress(LakeExists):
        return Lake.create(files, namespace, begun)
    return Lake.open(files)
