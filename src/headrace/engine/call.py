"""Calls to operations: the operation's name, the arguments, and the decoder of the reply."""

from __future__ import annotations

import os
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


# The class is not frozen, because a frozen dataclass is slower to create, and every request creates
# a call.
@dataclass(slots=True)
class Call(Generic[T]):
    """A call to one operation on one shard. Creating a call does not send it.

    The ticket is a nonce if the server remembers the answer of the call. If such a call is sent
    again, the server returns this answer and changes nothing. So a loop that makes a call several
    times must create the call each time.
    """

    op: str
    args: tuple[Arg, ...]
    decode: Callable[[Any], T]
    ticket: bytes = b""


def new_nonce() -> bytes:
    """Return a nonce for a call. The letter n distinguishes it from other tickets."""
    return b"n" + os.urandom(8).hex().encode()


@cache
def _declared(op: str) -> tuple[tuple[str, ...], frozenset[str], int, bool]:
    header = source(f"ops/{op}")
    names = tuple(header.fixed)
    return names, frozenset(names), len(header.each), header.nonce == "always"


def build(
    op: str,
    decode: Callable[[Any], T],
    each: Sequence[tuple[Arg, ...]] = (),
    **args: Arg,
) -> Call[T]:
    """Return a call to an operation, with a nonce if the header of the Lua file requires a nonce.

    Raises TypeError if the arguments do not match the header of the Lua file.
    """
    names, wanted, width, has_nonce = _declared(op)
    if args.keys() != wanted:
        raise TypeError(f"{op} takes {', '.join(names)}; got {', '.join(args)}")
    fixed = tuple([args[name] for name in names])
    if each and len(each[0]) != width:
        raise TypeError(f"{op} takes {width} values for each row, not {len(each[0])}")
    words = fixed + tuple(chain.from_iterable(each))
    return Call(op, words, decode, new_nonce() if has_nonce else b"")


def optional(value: bytes | str | None) -> bytes:
    """Encode an argument that may be None; None and the empty string get different encodings."""
    if value is None:
        return b""
    return b"=" + (value.encode() if isinstance(value, str) else value)


def packed(value: dict[str, Any] | None) -> bytes:
    """Encode options as one argument. Without options, the argument is empty."""
    return pack(value) if value else b""


def packed_pair(first: bytes | None, second: bytes | None) -> bytes:
    """Encode two byte strings for the msgpack library of Lua. Each string may be None."""
    return b"\x92" + _packed_bytes(first) + _packed_bytes(second)


def has_first(pair: Arg) -> bool:
    """Return whether the first byte string of a packed pair is not None."""
    return isinstance(pair, bytes) and pair[1:2] not in (b"", _ABSENT)


_ABSENT = b"\xc2"


def _packed_bytes(value: bytes | None) -> bytes:
    # Lua's msgpack library has no bytes type: bytes are sent as a string with a 32-bit length.
    return _ABSENT if value is None else b"\xdb" + len(value).to_bytes(4, "big") + value


# Maps each refusal code to a function that creates the error. The function gets the job id and the
# two words that follow the code.
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
    """Return the error for a refusal that a script returned for one job."""
    code, _, rest = answer.decode().partition(" ")
    first, _, others = rest.partition(" ")
    refusal = _REFUSALS.get(code)
    return JobNotFound(job_id) if refusal is None else refusal(job_id, first, others)


def is_refusal(answer: Any) -> bool:
    """Return whether a reply is a refusal: a byte string that begins with a capital letter."""
    return isinstance(answer, bytes) and answer[:1].isupper()


Answer = str | HeadraceError


def each_state(ids: Sequence[str]) -> Callable[[Any], list[Answer]]:
    """Return a decoder that returns a list: for each job, the new state or the error."""

    def decode(answers: Any) -> list[Answer]:
        if isinstance(answers, int):
            return ["complete"] * answers
        return [
            _STATES.get(answer) or job_refusal(job_id, answer)
            for job_id, answer in zip(ids, answers, strict=True)
        ]

    return decode


_STATES = {state.encode(): state for state in STATES}


def session_answer(worker: str) -> Callable[[Any], int]:
    """Return a decoder that raises SessionEnded if the reply is a refusal."""

    def decode(answer: Any) -> int:
        if is_refusal(answer):
            raise SessionEnded(worker)
        return int(answer)

    return decode


def queue_answer(queue: str) -> Callable[[Any], int]:
    """Return a decoder that raises QueueNotFound if the reply is a refusal."""

    def decode(answer: Any) -> int:
        if is_refusal(answer):
            raise QueueNotFound(queue)
        return int(answer)

    return decode


def feed_answer(feed: str) -> Callable[[Any], Any]:
    """Return a decoder that raises a FeedError if the reply is a refusal."""

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
    """Raise SessionRequired if the reply to a pop is a refusal."""
    if is_refusal(answer):
        raise SessionRequired(worker, queue)
