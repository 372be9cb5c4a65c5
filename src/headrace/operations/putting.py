"""Put jobs: one, or many in batches."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, Unpack, cast

from headrace.codecs.codec import Codec, digest_of
from headrace.engine.call import Arg, Call, build, is_refusal, job_refusal, pack, packed
from headrace.engine.check import Limits, listed, text
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations.batches import in_batches
from headrace.operations.core import Core, FastPath
from headrace.operations.ids import (
    batch_of,
    new_id,
    new_ids,
    new_nonce,
    ready,
    settled_id,
    spare_id,
)
from headrace.operations.protocols import QueueLike
from headrace.operations.requests import ask, ask_one
from headrace.options import JobOptions, Put, check_options
from headrace.transport.drive import Operation

# The largest payload that is stored in the record of its job, as in the scripts.
INLINE = 1024
# Answers of put_one and hand_one.
CREATED, OTHER_SCRIPT, NOT_POSSIBLE = 1, 2, -1
OTHER = {"put_one": "hand_one", "hand_one": "put_one"}
# Seconds for which the script `put` is used after a fast script could not put the job.
DETOUR = 5.0

# A job to create: its id and payload; and, if it has them, a spare id and options of its own.
FullItem = tuple[str, bytes, str, dict[str, Any] | None]
Item = tuple[str, bytes] | FullItem


def encoded(core: Core, value: Any) -> bytes:
    """Return a value as the payload of a job; raise InvalidArgument if it is too large."""
    return payload_for(value, core.codec, core.limits)


def payload_for(value: Any, codec: Codec, limits: Limits) -> bytes:
    """Return a value as payload, without a connection."""
    if isinstance(value, Put):
        raise InvalidArgument(
            "a Put is an item of put_many, not data; pass its options to put instead"
        )
    payload = codec.encode(value)
    if not isinstance(payload, bytes):
        raise InvalidArgument(f"a codec must return bytes, not {type(payload).__name__}")
    if len(payload) > limits.payload:
        raise InvalidArgument(
            f"a payload may have {limits.payload} bytes, not {len(payload)}; store the data "
            "elsewhere and put its address into the job, or raise Limits(payload=...)"
        )
    return payload


def put(queue: QueueLike, data: Any, **options: Unpack[JobOptions]) -> Operation[str]:
    """Create a job from data and return its id.

    Without options the job can run at once, after the jobs that already wait. JobOptions lists the
    options. If the id exists, `on_exists` decides: the existing job is moved to this queue (the
    default), replaced while it waits, kept with JobExists raised, or joined by a duplicate under a
    new id. If a job with an equal `unique` value exists in the queue, JobExists is raised;
    with on_exists="replace" the waiting job is changed and its id returned.

    Raises InvalidArgument for an option or a payload that cannot be used, JobExists as described.

        queue.put({"to": "ada@example.org"}, delay=60, retries=3, tags=["mail"])
    """
    if options:
        return (yield from put_with_options(queue, data, options))
    core = queue.core
    item = (new_id(), payload_for(data, core.codec, core.limits))
    shard = core.shard_of(item[0])
    path = core.fast_path(shard, queue.name)
    is_fast = len(item[1]) <= INLINE and path.not_before <= time.monotonic()
    if is_fast and (yield from _put_fast(core, shard, path, (queue.name, *item))):
        return item[0]
    call = Call("put", _plain_arguments(queue.name) + item, partial(_made, item))
    # The fast call may still arrive if its connection broke: then the id exists already.
    answer = yield from ask_one(core, shard, call, again=is_fast)
    if isinstance(answer, HeadraceError):
        raise answer
    return answer


def _put_fast(
    core: Core, shard: int, path: FastPath, args: tuple[str, str, bytes]
) -> Operation[bool]:
    """Put a job with the script that worked the last time; return False if it did nothing."""
    op = path.op
    answer = yield from ask_one(core, shard, Call(op, args, int))
    if answer == OTHER_SCRIPT:
        op = path.op = OTHER[op]
        answer = yield from ask_one(core, shard, Call(op, args, int))
    if answer == NOT_POSSIBLE:
        path.not_before = time.monotonic() + DETOUR
    return answer == CREATED


@lru_cache
def _plain_arguments(queue: str) -> tuple[Arg, ...]:
    return put_call(queue, [], b"", None, "").args


def put_with_options(
    queue: QueueLike, data: Any, options: JobOptions, *, after: str | None = None
) -> Operation[str]:
    """Create a job with options; with `after` it is blocked until that group is finished."""
    core = queue.core
    payload = encoded(core, data)
    checked = _checked(core, data, payload, options)
    given_id, on_exists = checked.pop("id", None), checked.pop("on_exists", None)
    if after is not None:
        checked["after"] = text("group", after, core.limits.name)
    job_id = settled_id(core, given_id, checked)
    if job_id in checked.get("depends_on", ()):
        raise InvalidArgument(f"job {job_id!r} would depend on itself and never run")
    item: Item = (job_id, payload)
    if given_id is not None:
        item = (job_id, payload, spare_id(core, job_id), None)
    nonce = "" if given_id is None and "unique" not in checked else new_nonce()
    call = put_call(queue.name, [item], packed(ready(checked)), on_exists, nonce)
    [[answer]] = yield from ask(core, [(core.shard_of(job_id), call)])
    if isinstance(answer, HeadraceError):
        raise answer
    return str(answer)


def _checked(core: Core, data: Any, payload: bytes, options: JobOptions) -> dict[str, Any]:
    if options.get("unique") is True:
        options = {**options, "unique": digest_of(core.codec, data, payload)}
    return check_options(options, core.limits)


def put_many(
    queue: QueueLike, items: Iterable[Any], **options: Unpack[JobOptions]
) -> Operation[list[str]]:
    """Create a job from each item, a few hundred per round trip, and return their ids in order.

    An item is data, or a Put(data, id=..., priority=...) with options of its own. With
    on_exists="reject" every job that can be created is created, then the first refusal is raised.

        queue.put_many([{"n": 1}, Put({"n": 2}, delay=60)], tags=["import"])
    """
    core = queue.core
    if options.get("id") is not None or isinstance(options.get("unique"), str):
        raise InvalidArgument(
            "jobs cannot share an id or a unique value: give each its own with Put(...)"
        )
    unique = bool(options.pop("unique", False))
    shared = check_options(options, core.limits)
    on_exists = shared.pop("on_exists", None)
    rows, named = _rows(core, items, shared, unique=unique)
    if named:
        check_order(rows, shared)
    nonce = new_nonce() if named else ""
    packed_options = packed(shared)
    answers = yield from in_batches(
        core,
        rows,
        lambda part: put_call(queue.name, part, packed_options, on_exists, nonce),
        batch_of(core, max(len(parents_of_row(row, shared)) for row in rows)) if rows else None,
    )
    for answer in answers:
        if isinstance(answer, HeadraceError):
            raise answer
    return answers  # type: ignore[return-value]  # the errors have just been ruled out


def _rows(
    core: Core, items: Iterable[Any], shared: dict[str, Any], *, unique: bool
) -> tuple[list[Item], bool]:
    every = listed("items", items, "data")
    plain = not unique and (core.shards == 1 or not shared)
    named = False
    rows: list[Item] = []
    for job_id, item in zip(new_ids(len(every)), every, strict=True):
        if plain and not isinstance(item, Put):
            rows.append((job_id, encoded(core, item)))
            continue
        put_item = item if isinstance(item, Put) else Put(item)
        row = row_of(core, put_item, job_id, shared, unique=unique)
        named = named or bool(row[2]) or "unique" in (row[3] or ())
        rows.append(row)
    return rows, named


def row_of(
    core: Core, item: Put, new_id: str, shared: dict[str, Any], *, unique: bool = False
) -> FullItem:
    """Return the row of a put call that creates a job from an item."""
    options = item.options
    if options.get("on_exists") is not None:
        raise InvalidArgument("on_exists is an option of the call, not of one item")
    if unique and not options.get("unique"):
        options = {**options, "unique": True}
    payload = encoded(core, item.data)
    own = _checked(core, item.data, payload, options)
    given_id = own.pop("id", None)
    job_id = settled_id(core, given_id, {**shared, **own}, new_id)
    return job_id, payload, spare_id(core, job_id) if given_id is not None else "", own


def parents_of_row(row: Item, shared: dict[str, Any]) -> Sequence[str]:
    """Return the dependencies of a new job, from its own options or those of the call."""
    own = row[3] if len(row) == 4 else None
    found: Sequence[str] = (own or {}).get("depends_on", shared.get("depends_on", ()))
    return found


def check_order(rows: Sequence[Item], shared: dict[str, Any]) -> None:
    """Raise InvalidArgument if a job depends on a later one.

    A job that does not exist yet would count as finished.
    """
    later_ids: set[str] = set()
    for row in reversed(rows):
        later_ids.add(row[0])
        if forward := later_ids.intersection(parents_of_row(row, shared)):
            late = min(forward)
            raise InvalidArgument(
                f"job {row[0]!r} would depend on itself and never run"
                if late == row[0]
                else f"job {row[0]!r} depends on {late!r}, which comes later: put {late!r} first"
            )


def _others(items: Sequence[Item]) -> bytes:
    if all(len(item) == 2 for item in items):
        return b""
    return pack([(item[2], item[3] or None) if len(item) == 4 else ("", None) for item in items])


def put_call(
    queue: str, items: Sequence[Item], options: bytes, on_exists: str | None, nonce: str
) -> Call[list[str | HeadraceError]]:
    """Return a put call for jobs of one shard."""

    def decode(answers: Any) -> list[str | HeadraceError]:
        if isinstance(answers, int):
            return [item[0] for item in items]
        return [_made(item, answer) for item, answer in zip(items, answers, strict=True)]

    others = _others(items)
    return build(
        "put",
        decode,
        [item[:2] for item in items] if others else cast("Sequence[tuple[str, bytes]]", items),
        queue=queue,
        on_exists=on_exists or "",
        nonce=nonce,
        options=options,
        others=others,
    )


def _made(item: Item, answer: Any) -> str | HeadraceError:
    if answer == 1:
        return item[0]
    if is_refusal(answer):
        return job_refusal(item[0], answer)
    if isinstance(answer, bytes):
        return answer[1:].decode()
    return item[2] if answer == 2 and len(item) == 4 else item[0]
