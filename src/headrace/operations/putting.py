"""Put one job, or many jobs in batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Unpack

from headrace.codecs.codec import Codec, bound, digest_of
from headrace.engine.call import Call, is_refusal, job_refusal, new_nonce, packed
from headrace.engine.check import Limits, listed, text
from headrace.errors import HeadraceError, InvalidArgument
from headrace.operations.batches import in_batches
from headrace.operations.core import Core
from headrace.operations.durability import confirmed
from headrace.operations.ids import (
    batch_of,
    new_id,
    new_ids,
    ready,
    settled_id,
    spare_id,
)
from headrace.operations.protocols import QueueLike
from headrace.operations.requests import ask_one, unchanged
from headrace.options import JobOptions, Put, check_options
from headrace.transport.drive import Operation

# A job to create: its id and payload. A FullItem also has a spare id and options of its own.
FullItem = tuple[str, bytes, str, dict[str, Any] | None]
Item = tuple[str, bytes] | FullItem
# The positions of payloads in an item.
PAYLOADS = (1,)


def encoded(core: Core, value: Any) -> bytes:
    """Return a value as the payload of a job; raise InvalidArgument if the payload is too large."""
    return payload_for(value, core.codec, core.limits)


def job_payload(core: Core, value: Any, job_id: str, queue: str) -> bytes:
    """Encode the data of a job as a payload.

    If the job id or the queue is known, the codec can tie the payload to it.
    """
    return payload_for(value, bound(core.codec, job_id, queue), core.limits)


def payload_for(value: Any, codec: Codec, limits: Limits) -> bytes:
    """Return a value as the payload of a job, without a connection to the server."""
    if isinstance(value, Put):
        raise InvalidArgument(
            "a Put is an item for put_many, not data; pass the options to put instead"
        )
    payload = codec.encode(value)
    if not isinstance(payload, bytes):
        raise InvalidArgument(f"a codec must return bytes, not {type(payload).__name__}")
    if len(payload) > limits.payload:
        raise InvalidArgument(
            f"a payload may have at most {limits.payload} bytes, not {len(payload)}; store the "
            "data elsewhere and put its address into the job, or raise Limits(payload=...)"
        )
    return payload


def put(queue: QueueLike, data: Any, **options: Unpack[JobOptions]) -> Operation[str]:
    """Create a job from data and return the job id.

    Without options the job is waiting at once, behind the jobs that already wait. JobOptions lists
    the options. If a job with this id exists, `on_exists` decides what happens. "move" (the
    default) moves that job to this queue, and "replace" changes that job if it is waiting,
    scheduled or blocked. "reject" raises JobExists, and "duplicate" creates a job with a new id. If
    a job in the queue has the same `unique` value, the call raises JobExists. With "replace", the
    call instead changes that job if it is waiting, scheduled or blocked, and returns its id.

    Raises InvalidArgument if an option or the payload is invalid, JobExists as described above, and
    NotDurable if the server does not confirm the wanted `durability` in time.

        queue.put({"to": "ada@example.org"}, delay=60, retries=3, tags=["mail"])
    """
    if options or queue.core.durability:
        return (yield from put_with_options(queue, data, options))
    core = queue.core
    job_id = new_id()
    codec = bound(core.codec, job_id, queue.name) if core.binds else core.codec
    payload = payload_for(data, codec, core.limits)
    call = Call("put", (queue.name, b"", job_id, payload), unchanged)
    yield from ask_one(core, core.shard_of(job_id), call)
    return job_id


def put_with_options(
    queue: QueueLike,
    data: Any,
    options: JobOptions,
    *,
    after: str | None = None,
    first: bool = False,
) -> Operation[str]:
    """Create a job with options.

    With `after`, the job is blocked until that group is finished. With `first`, the job comes
    before all jobs that wait in the queue.
    """
    core = queue.core
    checked = _checked(core, data, options)
    durability = checked.pop("durability", None)
    if first:
        checked["first"] = True
    request = _put_checked(queue, data, checked, after)
    return (yield from confirmed(core, durability, request))


def _put_checked(
    queue: QueueLike, data: Any, checked: dict[str, Any], after: str | None
) -> Operation[str]:
    core = queue.core
    given_id, on_exists = checked.pop("id", None), checked.pop("on_exists", None)
    if after is not None:
        checked["after"] = text("group", after, core.limits.name)
    job_id = settled_id(core, given_id, checked)
    if job_id in checked.get("depends_on", ()):
        raise InvalidArgument(f"job {job_id!r} would depend on itself and never run")
    is_given = given_id is not None
    payload = _payload(core, queue.name, data, job_id, on_exists, checked, is_given=is_given)
    if given_id is None and "unique" not in checked:
        return (yield from _put_new(queue, job_id, payload, packed(ready(checked))))
    item: Item = (job_id, payload)
    if given_id is not None:
        item = (job_id, payload, spare_id(core, job_id), None)
    call = put_call(queue.name, [item], ready(checked), on_exists or "")
    [answer] = yield from ask_one(core, core.shard_of(job_id), call)
    if isinstance(answer, HeadraceError):
        raise answer
    return str(answer)


def _put_new(queue: QueueLike, job_id: str, payload: bytes, options: bytes) -> Operation[str]:
    """Create a job under a new id, which no other call can have used."""
    call = Call("put", (queue.name, options, job_id, payload), unchanged)
    reply = yield from ask_one(queue.core, queue.core.shard_of(job_id), call)
    if reply != 1 and is_refusal(reply[0]):
        raise job_refusal(job_id, reply[0])
    return job_id


def _payload(
    core: Core,
    queue: str,
    data: Any,
    job_id: str,
    on_exists: str | None,
    options: dict[str, Any],
    *,
    is_given: bool,
) -> bytes:
    """Return the payload for a put that may replace the data of another job.

    With "replace", another job may get the data: the job with the same unique value, or a job with
    the same id in another queue. "replace" may also be a setting of the queue.
    """
    if not core.binds:
        return encoded(core, data)
    may_replace = on_exists in (None, "replace")
    if may_replace and "unique" in options:
        return job_payload(core, data, "", queue)
    return job_payload(core, data, job_id, "" if may_replace and is_given else queue)


def _checked(core: Core, data: Any, options: JobOptions) -> dict[str, Any]:
    if options.get("unique") is True:
        options = {**options, "unique": digest_of(core.codec, data, encoded(core, data))}
    return check_options(options, core.limits)


def put_many(
    queue: QueueLike, items: Iterable[Any], **options: Unpack[JobOptions]
) -> Operation[list[str]]:
    """Create a job from each item, a few hundred per round trip, and return the job ids in order.

    An item is data, or a Put(data, id=..., priority=...) with options of its own. With
    on_exists="reject" the call creates every job that the server accepts, then raises the first
    error. If the call raises NotDurable, `result` lists the job id or the error of each item.

        queue.put_many([{"n": 1}, Put({"n": 2}, delay=60)], tags=["import"])
    """
    core = queue.core
    if options.get("id") is not None or isinstance(options.get("unique"), str):
        raise InvalidArgument(
            "jobs cannot share an id or a unique value: give each job its own values with Put(...)"
        )
    unique = options.pop("unique", False)
    if not isinstance(unique, bool):
        raise InvalidArgument(f"unique must be True or False for put_many, not {unique!r}")
    shared = check_options(options, core.limits)
    on_exists, durability = shared.pop("on_exists", None), shared.pop("durability", None)
    rows, named = _rows(queue, items, shared, on_exists, unique=unique)
    if named:
        check_order(rows, shared)
    policy = on_exists or "" if named else None
    request = in_batches(
        core,
        rows,
        lambda part: put_call(queue.name, part, shared, policy),
        batch_of(core, max(len(parents_of_row(row, shared)) for row in rows)) if rows else None,
        PAYLOADS,
    )
    answers = yield from confirmed(core, durability, request)
    for answer in answers:
        if isinstance(answer, HeadraceError):
            raise answer
    return answers  # type: ignore[return-value]  # the errors have just been ruled out


def _rows(
    queue: QueueLike,
    items: Iterable[Any],
    shared: dict[str, Any],
    on_exists: str | None,
    *,
    unique: bool,
) -> tuple[list[Item], bool]:
    core, name = queue.core, queue.name
    every = listed("items", items, "data")
    plain = not unique and (core.shards == 1 or not shared)
    codec, limits = core.codec, core.limits
    named = False
    rows: list[Item] = []
    for job_id, item in zip(new_ids(len(every)), every, strict=True):
        if plain and not isinstance(item, Put):
            own_codec = bound(codec, job_id, name) if core.binds else codec
            rows.append((job_id, payload_for(item, own_codec, limits)))
            continue
        put_item = item if isinstance(item, Put) else Put(item)
        row = row_of(core, name, put_item, job_id, shared, on_exists, unique=unique)
        named = named or bool(row[2]) or "unique" in (row[3] or ())
        rows.append(row)
    return rows, named


def row_of(
    core: Core,
    queue: str,
    item: Put,
    new_id: str,
    shared: dict[str, Any],
    on_exists: str | None = None,
    *,
    unique: bool = False,
) -> FullItem:
    """Return the row with which the script `put` creates a job from an item."""
    options = item.options
    for name in ("on_exists", "durability"):
        if options.get(name) is not None:
            raise InvalidArgument(f"{name} is an option of the call, not of one item")
    if unique and "unique" not in options:
        options = {**options, "unique": True}
    own = _checked(core, item.data, options)
    given_id = own.pop("id", None)
    job_id = settled_id(core, given_id, {**shared, **own}, new_id)
    is_given = given_id is not None
    payload = _payload(core, queue, item.data, job_id, on_exists, own, is_given=is_given)
    return job_id, payload, spare_id(core, job_id) if given_id is not None else "", own


def parents_of_row(row: Item, shared: dict[str, Any]) -> Sequence[str]:
    """Return the dependencies of a new job, from its own options or the options of the call."""
    own = row[3] if len(row) == 4 else None
    found: Sequence[str] = (own or {}).get("depends_on", shared.get("depends_on", ()))
    return found


def check_order(rows: Sequence[Item], shared: dict[str, Any]) -> None:
    """Raise InvalidArgument if a job depends on a later job of the call.

    The later job does not exist yet, so the dependency would count as complete.
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


def put_call(
    queue: str,
    items: Sequence[Item],
    options: dict[str, Any],
    on_exists: str | None = None,
) -> Call[list[str | HeadraceError]]:
    """Return a call of the operation `put` for jobs of one shard.

    `on_exists` is None if the ids of all jobs are new, and empty for the policy of the queue.
    """

    def decode(answers: Any) -> list[str | HeadraceError]:
        if isinstance(answers, int):
            return [item[0] for item in items]
        return [_made(item, answer) for item, answer in zip(items, answers, strict=True)]

    rows: Sequence[Sequence[Any]] = items
    if on_exists is not None:
        options = {**options, "on_exists": on_exists}
    if max(map(len, items)) > 2:
        options = {**options, "others": [spare_and_options(item) for item in items]}
        rows = [item[:2] for item in items]
    nonce = b"" if on_exists is None else new_nonce()
    return Call("put", (queue, packed(options), *chain.from_iterable(rows)), decode, nonce)


def spare_and_options(item: Item) -> tuple[str, dict[str, Any] | None]:
    """Return the spare id and the own options of a job in the form that the scripts read."""
    return (item[2], item[3] or None) if len(item) == 4 else ("", None)


def _made(item: Item, answer: Any) -> str | HeadraceError:
    if answer == 1:
        return item[0]
    if is_refusal(answer):
        return job_refusal(item[0], answer)
    if isinstance(answer, bytes):
        return answer[1:].decode()
    return item[2] if answer == 2 and len(item) == 4 else item[0]
