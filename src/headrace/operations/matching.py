"""Find or cancel the jobs of a queue that have the same data."""

from __future__ import annotations

from typing import Any

from headrace.codecs.codec import same_bytes
from headrace.engine.call import Call, build
from headrace.errors import InvalidArgument, ServerUnavailable
from headrace.operations.protocols import QueueLike
from headrace.operations.putting import encoded
from headrace.operations.requests import ask_one
from headrace.transport.drive import Operation

# Jobs and bytes that one step compares at most.
MATCH_AT_MOST = 1000
MATCH_BYTES = 64 << 20


def matching(queue: QueueLike, data: Any) -> Operation[dict[str, str]]:
    """Return the ids of the jobs that have these data, each with its state.

    It finds waiting, scheduled, blocked and running jobs. Data are equal if the codec encodes them
    to the same bytes; if a worker replaced the data of its job, the new data count.

    Raises InvalidArgument if the codec does not encode equal data to the same bytes.

        queue.matching({"to": "ada@example.org"})  # {"h2k0...": "waiting"}
    """
    found = yield from _in_steps(queue, "find_matching", data)
    return dict(zip(found[::2], found[1::2], strict=True))


def cancel_matching(queue: QueueLike, data: Any) -> Operation[list[str]]:
    """Cancel the jobs that `matching` would return, and return their ids.

    Up to 1,000 jobs per shard it is one atomic step. A longer queue takes several; if the call is
    interrupted, call it again.
    """
    return (yield from _in_steps(queue, "cancel_matching", data))


def _in_steps(queue: QueueLike, op: str, data: Any) -> Operation[list[str]]:
    core = queue.core
    if not same_bytes(core.codec):
        raise InvalidArgument(
            "this codec cannot find jobs by data: it encodes equal data to different bytes; "
            "find them by id or by tag, or put them with unique=True"
        )
    payload = encoded(core, data)
    found: list[str] = []
    for shard in range(core.shards):
        cursor = b""
        more = True
        while more:
            call = _step(op, queue.name, payload, cursor)
            try:
                cursor, *words = yield from ask_one(core, shard, call)
            except ServerUnavailable as error:
                error.maybe_done = error.maybe_done or bool(found)
                raise
            found += [word.decode() for word in words]
            more = bool(cursor)
    return found


def _step(op: str, queue: str, payload: bytes, cursor: bytes) -> Call[list[Any]]:
    # Only payloads of the same length are read, so this limits the bytes that a step reads.
    at_most = min(MATCH_AT_MOST, MATCH_BYTES // max(1, len(payload)))
    return build(op, list, queue=queue, data=payload, at_most=max(1, at_most), cursor=cursor)
