"""Housekeeping on demand: what workers otherwise do as they pop."""

from __future__ import annotations

from headrace.engine.call import build
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import all_queues
from headrace.operations.requests import ask_one
from headrace.operations.values import WriteStatus
from headrace.operations.writes import recover_transactions
from headrace.transport.drive import Operation

QUEUES_A_SWEEP = 50


def sweep(client: ClientLike) -> Operation[list[WriteStatus]]:
    """Housekeeping that any peer may do: what dead workers held goes back, what is due starts to
    wait, what is too old goes. Workers do the same as they pop; this is for when none does. Writes
    from Spark whose driver died are brought to their end, and returned.
    """
    core = client.core
    finished = yield from recover_transactions(core)
    names = yield from all_queues(core)
    for shard in range(core.shards):
        for first in range(0, max(1, len(names)), QUEUES_A_SWEEP):
            rows = [(name,) for name in names[first : first + QUEUES_A_SWEEP]]
            while not (yield from ask_one(core, shard, build("sweep", int, rows))):
                pass
    return finished
