"""put: data becomes jobs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, cast

from headrace.codecs.codec import Codec
from headrace.engine.call import Arg, Call, build, is_refusal, job_refusal, pack, packed
from headrace.engine.check import Limits, Span, choice, listed
from headrace.engine.profile import SETTINGS
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations.batches import in_batches
from headrace.operations.core import Core, FastPath
from headrace.operations.protocols import QueueLike
from headrace.operations.put_options import (
    UNSET,
    Unset,
    batch_of,
    new_id,
    new_ids,
    new_nonce,
    options_of,
    ready,
    settled_id,
    spare_id,
    unique_of,
)
from headrace.operations.requests import ask, ask_one
from headrace.operations.values import Put
from headrace.transport.drive import Operation

NONE_GIVEN = (None,) * 9
REST_NOT_GIVEN = (UNSET, False, None, None, None, None)

# What a job may have to be part of its record, as the scripts say.
INLINE = 1024
# What put_one and hand_one answer.
MADE, OTHER_ONE, NOT_THIS_WAY = 1, 2, -1
OTHER = {"put_one": "hand_one", "hand_one": "put_one"}
# For so many seconds plain jobs of a queue go by put, where the others are in vain.
DETOUR = 5.0

# One job to be made: its id and data; and, if it has them, a spare id and options of its own.
Full = tuple[str, bytes, str, dict[str, Any] | None]
Item = tuple[str, bytes] | Full


def encoded(core: Core, value: Any) -> bytes:
    """A value as payload, if it is not too large."""
    return payload_for(value, core.codec, core.limits)


def payload_for(value: Any, codec: Codec, limits: Limits) -> bytes:
    """The same, for who has a codec but no connection."""
    if isinstance(value, Put):
        raise InvalidArgument("a Put is an item of put_many, not data; give put its options itself")
    payload = codec.encode(value)
    if not isinstance(payload, bytes):
        raise InvalidArgument(f"a codec makes bytes, this one made {type(payload).__name__}")
    if len(payload) > limits.payload:
        raise InvalidArgument(
            f"a payload may have {limits.payload} bytes, not {len(payload)}; put the data "
            "elsewhere and its address in the job, or raise Limits(payload=...)"
        )
    return payload


def put(
    queue: QueueLike,
    data: Any,
    *,
    id: str | None = None,  # noqa: A002 - the word users know
    priority: float | None = None,
    tags: Iterable[str] | None = None,
    delay: Span | None = None,
    at: datetime | None = None,
    retries: int | Unset | None = UNSET,
    start_within: Span | None = None,
    result_ttl: Span | None = None,
    unique: bool | str = False,
    key: str | None = None,
    throttles: Iterable[str] | None = None,
    depends_on: Iterable[str] | None = None,
    if_dependency_fails: str | None = None,
    group: str | None = None,
    on_exists: str | None = None,
) -> Operation[str]:
    """Makes a job of data and returns its id; lower priorities run sooner.

    It can be had at once, after a delay, or from a time on (at).

    An id that exists is moved here, replaced where it waits, rejected with JobExists, or put
    beside the other as a duplicate, as on_exists says (default: the queue's own, which is move).
    A job not started within start_within expires; retries=None is without limit.

    Of equal `unique` (a text, or True for the data itself) the queue has one at a time: another is
    refused with JobExists, or with on_exists="replace" changes the one that waits and returns its
    id. Jobs of one `key` share its limits and turns, jobs of a throttle its limits. A job with
    depends_on is blocked until those are complete, and if_dependency_fails says what becomes of it
    otherwise; `group` makes it a member of a group.
    """
    others = (priority, tags, delay, at, start_within, result_ttl, key, throttles, depends_on)
    if others == NONE_GIVEN and (
        (retries, unique, if_dependency_fails, group, id, on_exists) == REST_NOT_GIVEN
    ):
        return (yield from _put_plainly(queue, data))
    given = {
        "priority": priority,
        "tags": tags,
        "delay": delay,
        "at": at,
        "retries": retries,
        "start_within": start_within,
        "result_ttl": result_ttl,
        "unique": unique,
        "key": key,
        "throttles": throttles,
        "depends_on": depends_on,
        "if_dependency_fails": if_dependency_fails,
        "group": group,
    }
    return (yield from put_given(queue, data, id, on_exists, given))


def _put_plainly(queue: QueueLike, data: Any) -> Operation[str]:
    """A put that is given nothing but data, as most are: the shortest way to the server."""
    core = queue.core
    item = (new_id(), encoded(core, data))
    shard = core.shard_of(item[0])
    way = core.plain_way(shard, queue.name)
    shortly = len(item[1]) <= INLINE and way.not_before <= time.monotonic()
    if shortly and (yield from _put_shortly(core, shard, way, (queue.name, *item))):
        return item[0]
    call = Call("put", _plain_arguments(queue.name) + item, partial(_made, item))
    # A call that got lost on its way may still arrive: an id that exists is its work.
    answer = yield from ask_one(core, shard, call, again=shortly)
    if isinstance(answer, HeadraceError):
        raise answer
    return answer


def _put_shortly(
    core: Core, shard: int, way: FastPath, args: tuple[str, str, bytes]
) -> Operation[bool]:
    """By the script that was right the last time; False if nothing was done."""
    op = way.op
    answer = yield from ask_one(core, shard, Call(op, args, int))
    if answer == OTHER_ONE:
        op = way.op = OTHER[op]
        answer = yield from ask_one(core, shard, Call(op, args, int))
    if answer == NOT_THIS_WAY:
        way.not_before = time.monotonic() + DETOUR
    return answer == MADE


@lru_cache
def _plain_arguments(queue: str) -> tuple[Arg, ...]:
    return put_call(queue, [], b"", None, "").args


def put_given(
    queue: QueueLike,
    data: Any,
    given_id: str | None,
    on_exists: str | None,
    given: dict[str, Any],
) -> Operation[str]:
    """A put with its options by name."""
    core = queue.core
    _check_policy(on_exists)
    payload = encoded(core, data)
    unique = unique_of(core, data, payload, given.get("unique", False))
    options = options_of(core.limits, **{**given, "unique": unique})
    job_id = settled_id(core, given_id, options)
    if job_id in options.get("depends_on", ()):
        raise InvalidArgument(f"job {job_id!r} would depend on itself and never run")
    item: Item = (job_id, payload)
    if given_id is not None:
        item = (job_id, payload, spare_id(core, job_id), None)
    nonce = "" if given_id is None and "unique" not in options else new_nonce()
    call = put_call(queue.name, [item], packed(ready(options)), on_exists, nonce)
    [[answer]] = yield from ask(core, [(core.shard_of(job_id), call)])
    if isinstance(answer, HeadraceError):
        raise answer
    return str(answer)


def put_many(
    queue: QueueLike,
    items: Iterable[Any],
    *,
    priority: float | None = None,
    tags: Iterable[str] | None = None,
    delay: Span | None = None,
    at: datetime | None = None,
    retries: int | Unset | None = UNSET,
    start_within: Span | None = None,
    result_ttl: Span | None = None,
    unique: bool | str = False,
    key: str | None = None,
    throttles: Iterable[str] | None = None,
    depends_on: Iterable[str] | None = None,
    if_dependency_fails: str | None = None,
    group: str | None = None,
    on_exists: str | None = None,
) -> Operation[list[str]]:
    """Makes a job of each item, a few hundred in a round trip, and returns their ids in order.

    An item is data, or a Put(data, id=..., priority=...) with options of its own. With
    on_exists="reject" every job that can be made is made, then the first refusal is raised.
    """
    core = queue.core
    _check_policy(on_exists)
    shared = options_of(
        core.limits,
        priority=priority,
        tags=tags,
        delay=delay,
        at=at,
        retries=retries,
        start_within=start_within,
        result_ttl=result_ttl,
        key=key,
        throttles=throttles,
        depends_on=depends_on,
        if_dependency_fails=if_dependency_fails,
        group=group,
    )
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
    core: Core, items: Iterable[Any], shared: dict[str, Any], *, unique: bool | str
) -> tuple[list[Item], bool]:
    every = listed("items", items, "data")
    if isinstance(unique, str):
        raise InvalidArgument(
            "many jobs do not share a unique value: unique=True, or Put(unique=...)"
        )
    plain = not unique and (core.shards == 1 or not shared)
    named = False
    rows: list[Item] = []
    for job_id, item in zip(new_ids(len(every)), every, strict=True):
        if plain and not isinstance(item, Put):
            rows.append((job_id, encoded(core, item)))
            continue
        put_item = item if isinstance(item, Put) else Put(item)
        row = row_of(core, put_item, job_id, shared, unique=unique)
        named = named or put_item.id is not None or bool(put_item.unique or unique)
        rows.append(row)
    return rows, named


def row_of(
    core: Core, item: Put, new_id: str, shared: dict[str, Any], *, unique: bool = False
) -> Full:
    """A job to be made of an item."""
    payload = encoded(core, item.data)
    own = options_of(
        core.limits,
        priority=item.priority,
        tags=item.tags,
        delay=item.delay,
        at=item.at,
        retries=item.retries,
        start_within=item.start_within,
        result_ttl=item.result_ttl,
        unique=unique_of(core, item.data, payload, item.unique or unique),
        key=item.key,
        throttles=item.throttles,
        depends_on=item.depends_on,
        if_dependency_fails=item.if_dependency_fails,
        group=item.group,
    )
    job_id = settled_id(core, item.id, {**shared, **own}, new_id)
    return job_id, payload, spare_id(core, job_id) if item.id is not None else "", own


def parents_of_row(row: Item, shared: dict[str, Any]) -> Sequence[str]:
    """What a job to be made depends on, by its own options or by those of the call."""
    own = row[3] if len(row) == 4 else None
    found: Sequence[str] = (own or {}).get("depends_on", shared.get("depends_on", ()))
    return found


def check_order(rows: Sequence[Item], shared: dict[str, Any]) -> None:
    """Raises if a job depends on one that comes later: what is not there yet counts as over."""
    to_come: set[str] = set()
    for row in reversed(rows):
        to_come.add(row[0])
        if too_late := to_come.intersection(parents_of_row(row, shared)):
            late = min(too_late)
            raise InvalidArgument(
                f"job {row[0]!r} would depend on itself and never run"
                if late == row[0]
                else f"job {row[0]!r} depends on {late!r}, which comes later: put that one first"
            )


def _others(items: Sequence[Item]) -> bytes:
    if all(len(item) == 2 for item in items):
        return b""
    return pack([(item[2], item[3] or None) if len(item) == 4 else ("", None) for item in items])


def _check_policy(on_exists: str | None) -> None:
    if on_exists is not None:
        choice("on_exists", on_exists, SETTINGS["on_exists"].choices)


def put_call(
    queue: str, items: Sequence[Item], options: bytes, on_exists: str | None, nonce: str
) -> Call[list[str | HeadraceError]]:
    """A put call for jobs of one shard."""

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
