"""Wait until the server has stored a call durably: in the append-only file, or on replicas.

WAITAOF or WAIT follows the call on the same connection, in the same round trip.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoPermissionError

from headrace.engine import keys
from headrace.engine.check import Durability
from headrace.errors import NotDurable, ServerUnavailable
from headrace.operations.core import Core
from headrace.operations.requests import raw
from headrace.transport.drive import Operation, Send
from headrace.transport.transport import Command, Words

T = TypeVar("T")

# The operations whose effect is confirmed: puts, and outcomes of jobs.
CONFIRMED = ("put", "complete", "fail", "release")
# The index of the ticket in a command that Core.words returns.
TICKET = 4
# The share of the client's `timeout` for which the server may wait for a confirmation. The rest of
# the time is left for the reply: a server ends a wait up to 0.1 s late.
WAITING_SHARE = 0.5


def confirmed(core: Core, durability: Durability | None, operation: Operation[T]) -> Operation[T]:
    """Carry out an operation; raise NotDurable if the server does not confirm its puts or outcomes.

    A `durability` of None means the default of the client or queue.
    """
    wanted = core.durability if durability is None else durability
    if not wanted:
        return (yield from operation)
    yield from require_support(core, wanted)
    shortfall, sent = "", set[bytes]()
    try:
        effect = next(operation)
        while True:
            if isinstance(effect, Send) and not shortfall:
                replies, shortfall = yield from _send(core, wanted, effect.commands, sent)
                effect = operation.send(replies)
            else:
                effect = operation.send((yield effect))
    except StopIteration as end:
        if shortfall:
            raise NotDurable(shortfall, end.value) from None
        return end.value  # type: ignore[no-any-return]  # the value of Operation[T]


def require_support(core: Core, wanted: Durability) -> Operation[None]:
    """Raise ServerUnavailable if a server cannot confirm calls, before the first call is made."""
    if not wanted or wanted in core.supported:
        return
    probe = [(shard, _wait(wanted, 1)) for shard in range(core.shards)]
    try:
        yield from raw(core, probe)
    except ServerUnavailable as error:
        why = error.__cause__ and _unsupported(wanted, error.__cause__)
        if not why:
            raise
        raise ServerUnavailable(f"{why}. Nothing was changed", maybe_done=False) from error
    core.supported.add(wanted)


def _wait(wanted: Durability, ms: int) -> Words:
    return ("WAITAOF", 1, 0, ms) if wanted == "aof" else ("WAIT", wanted, ms)


def _send(
    core: Core, wanted: Durability, commands: list[Command], sent: set[bytes]
) -> Operation[tuple[list[Any], str]]:
    """Send commands, then one WAIT or WAITAOF for each shard.

    Return the replies of the commands, and a text that says why they are not confirmed ("" if they
    are).

    `sent` has the tickets of the calls that the operation has sent before.
    If the connection broke or a replica was promoted during a wait, the replies of the shard become
    errors. The client then repeats the calls, on the new primary if there is one.
    """
    calls = {at: shard for at, (shard, words) in enumerate(commands) if _is_confirmed(core, words)}
    tickets = {at: cast(bytes, commands[at][1][TICKET]) for at in calls}
    repeated = {calls[at] for at, ticket in tickets.items() if _is_repeated(ticket, sent)}
    sent.update(tickets.values())
    shards = list(dict.fromkeys(calls.values()))
    ms = max(1, int(core.timeout * WAITING_SHARE * 1000))
    touches: list[Command] = [(shard, _touch(core, shard)) for shard in repeated]
    waits: list[Command] = [(shard, _wait(wanted, ms)) for shard in shards]
    replies = yield Send([*commands, *touches, *waits])
    answers = dict(zip(shards, replies[len(commands) + len(touches) :], strict=True))
    del replies[len(commands) :]
    shortfall = ""
    for at, shard in calls.items():
        answer = answers[shard]
        if isinstance(replies[at], Exception):
            continue
        if not isinstance(answer, Exception):
            shortfall = shortfall or _shortfall(wanted, answer, ms)
        elif why := _unsupported(wanted, answer):
            shortfall = shortfall or f"the server accepted the call, but cannot confirm it: {why}"
        else:
            replies[at] = RedisConnectionError(str(answer))
    return replies, shortfall


def _is_repeated(ticket: bytes, sent: set[bytes]) -> bool:
    """Return whether an earlier attempt of a call may have been carried out."""
    return ticket in sent if ticket.startswith(b"n") else ticket != b"0"


def _touch(core: Core, shard: int) -> Words:
    """Return a command that writes to a key the value that it already has.

    A wait covers only the writes of its own connection. If the first attempt of a call took effect,
    the repeated call writes nothing, and the wait would not cover the first attempt.
    """
    return ("HINCRBY", core.key(shard, keys.LOG), "number", 0)


def _is_confirmed(core: Core, words: Words) -> bool:
    if words[0] == b"EVALSHA":
        return words[-1] in CONFIRMED
    return words[0] == b"FCALL" and any(
        words[1] == core.library.operations[op].function for op in CONFIRMED
    )


def _shortfall(wanted: Durability, answer: Any, ms: int) -> str:
    seconds = f"within {ms / 1000:g} s"
    if wanted == "aof":
        return "" if answer[0] else f"the server did not write the call to its AOF {seconds}"
    if answer >= wanted:
        return ""
    return f"{answer} of {wanted} replicas confirmed the call {seconds}"


def _unsupported(wanted: Durability, error: BaseException) -> str:
    """Return why a server can never confirm a call, or "" if a repeated call may be confirmed."""
    if "unknown command" in str(error):
        return (
            f"the server lacks the command that durability={wanted!r} needs; for 'aof' use Valkey "
            "or Redis 7.2 or later, or pass a number of replicas"
        )
    if "appendonly is disabled" in str(error):
        return "the server has no append-only file: set appendonly yes, or omit durability='aof'"
    if isinstance(error, NoPermissionError):
        return f"the user of this URL lacks a permission that durability={wanted!r} needs ({error})"
    return ""
