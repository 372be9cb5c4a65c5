"""put: data becomes jobs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from headrace.client.batches import in_batches
from headrace.client.core import Core
from headrace.client.talk import Talk, ask
from headrace.client.talks.faces import QueueFace
from headrace.client.values import Put
from headrace.engine.call import Call, build, is_refusal, job_refusal, pack, packed
from headrace.engine.check import (
    Limits,
    Span,
    choice,
    listed,
    milliseconds,
    number,
    tags,
    text,
    whole,
)
from headrace.engine.profile import SETTINGS
from headrace.engine.shard import beside
from headrace.errors import HeadraceError, InvalidArgument

ID_BYTES = 12
MOST_RETRIES = 1_000_000


# One job to be made: its id and data; and, if it has them, a spare id and options of its own.
Item = tuple[str, bytes] | tuple[str, bytes, str, dict[str, Any] | None]


class Unset:
    """Tells "not given" from None."""

    def __repr__(self) -> str:
        return "unset"


UNSET = Unset()


def new_ids(count: int) -> Iterator[str]:
    """Unguessable ids, cheap in bulk."""
    text_of_all = os.urandom(ID_BYTES * count).hex()
    width = 2 * ID_BYTES
    return (text_of_all[at : at + width] for at in range(0, width * count, width))


def new_nonce() -> str:
    """What tells a call that is repeated from another one like it."""
    return os.urandom(6).hex()


def options_of(
    limits: Limits,
    priority: float | None,
    tag_list: Iterable[str] | None,
    delay: Span | None,
    retries: int | Unset | None,
    start_within: Span | None,
    result_ttl: Span | None,
) -> dict[str, Any]:
    """The options of a put as the script reads them, checked."""
    options: dict[str, Any] = {}
    if priority is not None:
        options["priority"] = number("priority", priority)
    if tag_list is not None:
        options["tags"] = tags(tag_list, limits)
    if delay is not None:
        options["delay"] = milliseconds("delay", delay)
    if not isinstance(retries, Unset):
        options["retries"] = (
            False if retries is None else whole("retries", retries, 0, MOST_RETRIES)
        )
    if start_within is not None:
        options["start_within"] = milliseconds("start_within", start_within)
    if result_ttl is not None:
        options["result_ttl"] = milliseconds("result_ttl", result_ttl)
    return options


def encoded(core: Core, value: Any) -> bytes:
    """A value as payload, if it is not too large."""
    if isinstance(value, Put):
        raise InvalidArgument("a Put is an item of put_many, not data; give put its options itself")
    payload = core.codec.encode(value)
    if not isinstance(payload, bytes):
        raise InvalidArgument(f"a codec makes bytes, this one made {type(payload).__name__}")
    if len(payload) > core.limits.payload:
        raise InvalidArgument(
            f"a payload may have {core.limits.payload} bytes, not {len(payload)}; put the data "
            "elsewhere and its address in the job, or raise Limits(payload=...)"
        )
    return payload


def put(
    queue: QueueFace,
    data: Any,
    *,
    id: str | None = None,  # noqa: A002 - the word users know
    priority: float | None = None,
    tags: Iterable[str] | None = None,
    delay: Span | None = None,
    retries: int | Unset | None = UNSET,
    start_within: Span | None = None,
    result_ttl: Span | None = None,
    on_exists: str | None = None,
) -> Talk[str]:
    """Makes a job of data and returns its id; lower priorities run sooner.

    An id that exists is moved here, replaced where it waits, rejected with JobExists, or put
    beside the other as a duplicate, as on_exists says (default: the queue's own, which is move).
    A job not started within start_within expires; retries=None is without limit.
    """
    core = queue.core
    _check_policy(on_exists)
    payload = encoded(core, data)
    options = options_of(core.limits, priority, tags, delay, retries, start_within, result_ttl)
    if id is None:
        job_id = os.urandom(ID_BYTES).hex()
        item: Item = (job_id, payload)
        nonce = ""
    else:
        job_id = text("id", id, core.limits.name)
        item = (job_id, payload, _spare(core, job_id), None)
        nonce = new_nonce()
    call = _put_call(queue.name, [item], packed(options), on_exists, nonce)
    [[answer]] = yield from ask(core, [(core.shard_of(job_id), call)])
    if isinstance(answer, HeadraceError):
        raise answer
    return str(answer)


def put_many(
    queue: QueueFace,
    items: Iterable[Any],
    *,
    priority: float | None = None,
    tags: Iterable[str] | None = None,
    delay: Span | None = None,
    retries: int | Unset | None = UNSET,
    start_within: Span | None = None,
    result_ttl: Span | None = None,
    on_exists: str | None = None,
) -> Talk[list[str]]:
    """Makes a job of each item, a few hundred in a round trip, and returns their ids in order.

    An item is data, or a Put(data, id=..., priority=...) with options of its own. With
    on_exists="reject" every job that can be made is made, then the first refusal is raised.
    """
    core = queue.core
    _check_policy(on_exists)
    shared = packed(
        options_of(core.limits, priority, tags, delay, retries, start_within, result_ttl)
    )
    rows, named = _rows(core, items)
    nonce = new_nonce() if named else ""
    answers = yield from in_batches(
        core, rows, lambda part: _put_call(queue.name, part, shared, on_exists, nonce)
    )
    for answer in answers:
        if isinstance(answer, HeadraceError):
            raise answer
    return answers  # type: ignore[return-value]  # the errors have just been ruled out


def _rows(core: Core, items: Iterable[Any]) -> tuple[list[Item], bool]:
    every = listed("items", items, "data")
    limits = core.limits
    named = False
    rows: list[Item] = []
    for job_id, item in zip(new_ids(len(every)), every, strict=True):
        if not isinstance(item, Put):
            rows.append((job_id, encoded(core, item)))
            continue
        own_id, spare = job_id, ""
        if item.id is not None:
            own_id = text("id", item.id, limits.name)
            spare = _spare(core, own_id)
            named = True
        retries = UNSET if item.retries is None else item.retries
        own = options_of(
            limits,
            item.priority,
            item.tags,
            item.delay,
            retries,
            item.start_within,
            item.result_ttl,
        )
        rows.append((own_id, encoded(core, item.data), spare, own))
    return rows, named


def _others(items: Sequence[Item]) -> bytes:
    if all(len(item) == 2 for item in items):
        return b""
    return pack([(item[2], item[3] or None) if len(item) == 4 else ("", None) for item in items])


def _spare(core: Core, job_id: str) -> str:
    """An id for a duplicate, on the same shard. Braces in the wrong places cannot be put in braces,
    and a long name has no room for them: then what fits is found by trying.
    """
    longest = core.limits.name
    nonce = new_nonce()
    begins = job_id.encode()[: longest - len(nonce) - 1].decode(errors="ignore")
    spare = beside(job_id, nonce)
    while len(spare.encode()) > longest or core.shard_of(spare) != core.shard_of(job_id):
        spare = f"{begins}~{new_nonce()}"
    return spare


def _check_policy(on_exists: str | None) -> None:
    if on_exists is not None:
        choice("on_exists", on_exists, SETTINGS["on_exists"].choices)


def _put_call(
    queue: str, items: Sequence[Item], options: bytes, on_exists: str | None, nonce: str
) -> Call[list[str | HeadraceError]]:
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
    if is_refusal(answer):
        return job_refusal(item[0], answer)
    return item[2] if answer == 2 and len(item) == 4 else item[0]
