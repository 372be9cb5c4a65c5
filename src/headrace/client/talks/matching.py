"""Jobs by what they are to do: those of a queue that have the same data, to see or to cancel."""

from __future__ import annotations

from typing import Any

from headrace.client.codec import same_bytes
from headrace.client.talk import Talk, ask_one
from headrace.client.talks.faces import ClientFace
from headrace.client.talks.putting import encoded
from headrace.client.talks.queues import check_name
from headrace.engine.call import Call, build
from headrace.errors import InvalidArgument, ServerUnavailable

MATCH_AT_MOST = 1000
MATCH_BYTES = 64 << 20


def matching(client: ClientFace, queue: str, data: Any) -> Talk[dict[str, str]]:
    """The ids of the jobs of a queue that have these data, each with its state.

    Only jobs that wait, are scheduled, blocked or running. Equal are data that the codec makes the
    same bytes of; what a worker has replaced with heartbeat counts as it is now.
    """
    found = yield from _in_steps(client, "find_matching", queue, data)
    return dict(zip(found[::2], found[1::2], strict=True))


def cancel_matching(client: ClientFace, queue: str, data: Any) -> Talk[list[str]]:
    """Deletes the jobs of a queue that have these data and returns their ids, as cancel does.

    Which they are, matching says. A queue of up to 1,000 jobs in a shard is one atomic step; in a
    longer one they are cancelled in several, and it may be called again.
    """
    return (yield from _in_steps(client, "cancel_matching", queue, data))


def _in_steps(client: ClientFace, op: str, queue: str, data: Any) -> Talk[list[str]]:
    core = client.core
    check_name(core, queue)
    if not same_bytes(core.codec):
        raise InvalidArgument(
            "jobs cannot be found by data with this codec: it makes other bytes of the same data "
            "every time; find them by id or by tag, or put them with unique=True"
        )
    payload = encoded(core, data)
    found: list[str] = []
    for shard in range(core.shards):
        cursor = b""
        more = True
        while more:
            call = _step(op, queue, payload, cursor)
            try:
                cursor, *words = yield from ask_one(core, shard, call)
            except ServerUnavailable as error:
                error.maybe_done = error.maybe_done or bool(found)
                raise
            found += [word.decode() for word in words]
            more = bool(cursor)
    return found


def _step(op: str, queue: str, payload: bytes, cursor: bytes) -> Call[list[Any]]:
    # Only payloads of the same length are read, so this bounds what a step reads.
    at_most = min(MATCH_AT_MOST, MATCH_BYTES // max(1, len(payload)))
    return build(op, list, queue=queue, data=payload, at_most=max(1, at_most), cursor=cursor)
