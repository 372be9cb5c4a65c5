"""Housekeeping on demand, which workers otherwise do whenever they pop."""

from __future__ import annotations

from headrace.engine.call import build
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import all_queues
from headrace.operations.requests import ask_one
from headrace.operations.values import WriteStatus
from headrace.operations.writes import recover_transactions
from headrace.transport.drive import Operation

# Queues per call, so that no call keeps the server busy for long.
QUEUES_PER_CALL = 50


def sweep(client: ClientLike) -> Operation[list[WriteStatus]]:
    """Do the housekeeping of the namespace and return the writes from Spark that it finished.

    Jobs of dead workers return to their queues, jobs that are due become waiting, and data past
    their retention are deleted. Workers do the same whenever they pop, so call it only where no
    worker runs. Writes whose Spark driver died are committed or aborted.
    """
    core = client.core
    finished = yield from recover_transactions(core)
    names = yield from all_queues(core)
    for shard in range(core.shards):
        for first in range(0, max(1, len(names)), QUEUES_PER_CALL):
            rows = [(name,) for name in names[first : first + QUEUES_PER_CALL]]
            while not (yield from ask_one(core, shard, build("sweep", int, rows))):
                pass
    return finished
