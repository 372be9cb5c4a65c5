"""A call of one operation on one shard: its name, its arguments and how to read the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, Generic, TypeVar

import msgspec

from headrace.engine.source import source
from headrace.engine.states import STATES
from headrace.errors import (
    DependencyRefused,
    FeedError,
    FeedExists,
    FeedNotFound,
    HasDependents,
    HeadraceError,
    ItemNotFound,
    JobExists,
    JobNotFound,
    LeaseLost,
    QueueNotFound,
    SessionEnded,
    SessionRequired,
    TooMany,
    WrongState,
)

T = TypeVar("T")
Arg = str | bytes | int | float

pack = msgspec.msgpack.Encoder().encode


# Not frozen, as Send is not: one is made for every call, and freezing takes longer than making.
@dataclass(slots=True)
class Call(Generic[T]):
    """What is asked of one shard. Building one sends nothing."""

    op: str
    args: tuple[Arg, ...]
    decode: Callable[[Any], T]


@cache
def _declared(op: str) -> tuple[tuple[str, ...], frozenset[str], int]:
    header = source(f"ops/{op}")
    names = tuple(argument.name for argument in header.args)
    return names, frozenset(names), len(header.each)


def build(
    op: str,
    decode: Callable[[Any], T],
    each: Sequence[tuple[Arg, ...]] = (),
    **args: Arg,
) -> Call[T]:
    """A call of op, whose Lua header says what it takes; a wrong name fails here."""
    names, wanted, width = _declared(op)
    if args.keys() != wanted:
        raise TypeError(f"{op} takes {', '.join(names)}; got {', '.join(args)}")
    fixed = tuple([args[name] for name in names])
    if each and len(each[0]) != width:
        raise TypeError(f"{op} takes {width} values for each, not {len(each[0])}")
    return Call(op, fixed + tuple(chain.from_iterable(each)), decode)


def optional(value: bytes | str | None) -> bytes:
    """An argument that may be absent; empty is not absent."""
    if value is None:
        return b""
    return b"=" + (value.encode() if isinstance(value, str) else value)


def packed(value: dict[str, Any] | None) -> bytes:
    """Options as one argument; none at all costs nothing."""
    return pack(value) if value else b""


def packed_pair(first: bytes | None, second: bytes | None) -> bytes:
    """Two byte strings, each of which may be absent, as Lua's msgpack reads them."""
    return b"\x92" + _packed_bytes(first) + _packed_bytes(second)


def has_first(pair: Arg) -> bool:
    """Whether the first of a packed pair is there."""
    return isinstance(pair, bytes) and pair[1:2] not in (b"", _ABSENT)


_ABSENT = b"\xc2"


def _packed_bytes(value: bytes | None) -> bytes:
    # Lua has no type for bytes: they travel as a text of 32-bit length.
    return _ABSENT if value is None else b"\xdb" + len(value).to_bytes(4, "big") + value


# What refusals that are about a job mean: errors, made of its id and the words after the code.
_REFUSALS: dict[str, Callable[[str, str, str], HeadraceError]] = {
    "DEPENDENCY_REFUSED": lambda job_id, why, _: DependencyRefused(job_id, why),
    "HAS_DEPENDENTS": lambda job_id, *_: HasDependents(job_id, []),
    "JOB_EXISTS": lambda job_id, state, _: JobExists(job_id, state),
    "LEASE_LOST": LeaseLost,
    "TOO_MANY": lambda job_id, what, limit: TooMany(job_id, what, int(limit)),
    "UNIQUE_TAKEN": lambda _, state, other: JobExists(other, state, unique=True),
    "WRONG_STATE": lambda job_id, state, _: WrongState(job_id, state),
}


def job_refusal(job_id: str, answer: bytes) -> HeadraceError:
    """The error behind a refusal that is about a job."""
    code, _, rest = answer.decode().partition(" ")
    first, _, others = rest.partition(" ")
    refusal = _REFUSALS.get(code)
    return JobNotFound(job_id) if refusal is None else refusal(job_id, first, others)


def is_refusal(answer: Any) -> bool:
    """Refusals are texts that begin with a capital; everything else is an answer."""
    return isinstance(answer, bytes) and answer[:1].isupper()


Answer = str | HeadraceError


def each_state(ids: Sequence[str]) -> Callable[[Any], list[Answer]]:
    """Reads one answer for each job: its new state, or why it was refused."""

    def decode(answers: Any) -> list[Answer]:
        if isinstance(answers, int):
            return ["complete"] * answers
        return [
            _STATES.get(answer) or job_refusal(job_id, answer)
            for job_id, answer in zip(ids, answers, strict=True)
        ]

    return decode


_STATES = {state.encode(): state for state in STATES} | {b"DONE": "done"}


def session_answer(worker: str) -> Callable[[Any], int]:
    """Reads an answer about a session."""

    def decode(answer: Any) -> int:
        if is_refusal(answer):
            raise SessionEnded(worker)
        return int(answer)

    return decode


def queue_answer(queue: str) -> Callable[[Any], int]:
    """Reads an answer about a queue."""

    def decode(answer: Any) -> int:
        if is_refusal(answer):
            raise QueueNotFound(queue)
        return int(answer)

    return decode


def feed_answer(feed: str) -> Callable[[Any], Any]:
    """Reads an answer about a feed."""

    def decode(answer: Any) -> Any:
        if is_refusal(answer):
            raise _feed_refusal(feed, answer)
        return answer

    return decode


def _feed_refusal(feed: str, answer: bytes) -> FeedError:
    code, _, item_id = answer.decode().partition(" ")
    if code == "FEED_EXISTS":
        return FeedExists(feed)
    if code == "ITEM_NOT_FOUND":
        return ItemNotFound(feed, item_id)
    return FeedNotFound(feed)


def refuse_pop(worker: str, queue: str, answer: Any) -> None:
    """Raises if a pop was refused."""
    if is_refusal(answer):
        raise SessionRequired(worker, queue)
