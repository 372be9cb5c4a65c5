"""Find or cancel the jobs of a queue by their data."""

from __future__ import annotations

from typing import Any

from headrace.codecs.codec import same_bytes
from headrace.engine.call import Call, build
from headrace.errors import InvalidArgument, ServerUnavailable
from headrace.operations.protocols import QueueLike
from headrace.operations.putting import encoded
from headrace.operations.requests import ask_one
from headrace.transport.drive import Operation

# The maximum number of jobs, and the maximum number of bytes, that one step compares.
MATCH_AT_MOST = 1000
MATCH_BYTES = 64 << 20


def matching(queue: QueueLike, data: Any) -> Operation[dict[str, str]]:
    """Find the jobs with this data; return a dict of their ids and states.

    The search covers waiting, scheduled, blocked and running jobs. Two values are equal if the
    codec encodes them to the same bytes. If a worker has replaced the data of its job, the search
    compares the new data.

    Raises InvalidArgument if the codec does not encode equal data to the same bytes.

        queue.matching({"to": "ada@example.org"})  # {"h2k0...": "waiting"}
    """
    found = yield from _in_steps(queue, "find_matching", data)
    return dict(zip(found[::2], found[1::2], strict=True))


def cancel_matching(queue: QueueLike, data: Any) -> Operation[list[str]]:
    """Cancel the jobs that `matching` would return, and return their ids.

    If the queue has up to 1,000 jobs per shard, each shard cancels its matching jobs in one atomic
    step. A longer queue takes several steps; if the call is interrupted, repeat the call.

    Raises InvalidArgument if the codec does not encode equal data to the same bytes.

        queue.cancel_matching({"to": "ada@example.org"})
    """
    return (yield from _in_steps(queue, "cancel_matching", data))


def _in_steps(queue: QueueLike, op: str, data: Any) -> Operation[list[str]]:
    core = queue.core
    if not same_bytes(core.codec):
        raise InvalidArgument(
            "this codec cannot find jobs by data, because it encodes equal data to different "
            "bytes; find the jobs by id or by tag, or put jobs with unique=True"
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
    # A step loads only payloads that are as long as `payload`. So the maximum number of jobs also
    # limits the number of bytes.
    at_most = min(MATCH_AT_MOST, MATCH_BYTES // max(1, len(payload)))
    return build(op, list, queue=queue, data=payload, at_most=max(1, at_most), cursor=cursor)
