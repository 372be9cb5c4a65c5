"""The lake for the events of a namespace: the one that is there, or a new one."""

from __future__ import annotations

from contextlib import suppress

from headrace.client.client import Client
from headrace.client.talk import drive
from headrace.client.talks.lakes import logs
from headrace.errors import LakeRefused
from headrace.lake.files import Files
from headrace.lake.lake import Lake, LakeExists, LakeNotFound


def open_lake(files: Files, client: Client) -> Lake:
    """The lake that is there, or a new one; it must be of the namespace of the client."""
    namespace = client.core.namespace
    begun = tuple(log.begun_ms for log in drive(client.core.wire, logs(client)))
    lake = _found_or_made(files, namespace, begun)
    if lake.identity.namespace != namespace:
        raise LakeRefused(
            lake.identity.id,
            f"the one in {files} has the events of namespace {lake.identity.namespace!r}, not of "
            f"{namespace!r}: give each a lake of its own",
        )
    if lake.identity.logs != begun:
        raise LakeRefused(
            lake.identity.id,
            f"the one in {files} has the events of another server, or of namespace {namespace!r} "
            "before it was made anew: give it a new lake",
        )
    return lake


def _found_or_made(files: Files, namespace: str, begun: tuple[int, ...]) -> Lake:
    with suppress(LakeNotFound):
        return Lake.open(files)
    with suppress(LakeExists):
        return Lake.create(files, namespace, begun)
    return Lake.open(files)
