"""Housekeeping on demand. Normally workers do the housekeeping whenever they pop."""

from __future__ import annotations

from headrace.engine.call import build
from headrace.operations.batches import chunks
from headrace.operations.function_libraries import remove_unused_libraries
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import all_queues
from headrace.operations.requests import ask_one
from headrace.operations.values import WriteStatus
from headrace.operations.writes import recover_transactions
from headrace.transport.drive import Operation

# The maximum number of queues per call. This limit prevents a call from keeping the server busy for
# long.
QUEUES_PER_CALL = 50


def sweep(client: ClientLike) -> Operation[list[WriteStatus]]:
    """Do the housekeeping of the namespace, and return the Spark writes that this call published.

    Jobs of dead workers return to their queues, jobs that are due become waiting, and data past its
    retention is deleted. Workers do this housekeeping whenever they pop, so call `sweep` only if no
    worker runs. The call also publishes or aborts each Spark write whose driver died. The call also
    deletes function libraries of other Headrace versions: a library goes if for 7 days no sweep
    found a connected client of its version. A client that still needs a deleted library loads the
    library again.

    Raises ServerUnavailable if the server does not answer.

        for write in client.sweep():
            print(write.id, write.rows)
    """
    core = client.core
    finished = yield from recover_transactions(core)
    names = yield from all_queues(core)
    for shard in range(core.shards):
        for part in chunks(names, QUEUES_PER_CALL) or [[]]:
            call = build("sweep", int, [(name,) for name in part])
            while not (yield from ask_one(core, shard, call)):
                pass
    yield from remove_unused_libraries(core)
    return finished
