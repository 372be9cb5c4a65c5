"""Leases of queues that heed no session: the worker renews them itself, while it can."""

from __future__ import annotations

from headrace.client.client import AsyncClient
from headrace.operations.batches import Row, in_batches
from headrace.operations.core import Core
from headrace.operations.finishing import heartbeat_call
from headrace.operations.popping import Popped
from headrace.transport.drive import Operation

RENEWALS = 3


async def leases_of(client: AsyncClient, queues: list[str]) -> dict[str, float]:
    """The queues whose jobs have a deadline although their worker lives, with its length."""
    found = {}
    for name in queues:
        settings = await client.queue(name).settings()
        lease = settings["lease"]
        if settings["session"] == "none" and isinstance(lease, float | int):
            found[name] = float(lease)
    return found


def renew(core: Core, held: list[Popped]) -> Operation[None]:
    """Renews the leases of these; those that are lost are told of elsewhere."""
    rows: list[Row] = [(popped.id, popped.record.token, b"") for popped in held]
    if rows:
        yield from in_batches(core, rows, lambda part: heartbeat_call(part, None))
