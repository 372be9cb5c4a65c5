"""A conversation with the server as a generator.

It yields what it wants done and is sent what came of it. It does no I/O and has no colour: drive
and drive_async are the only code that has one.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

from redis.exceptions import (
    AskError,
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)

from headrace.engine.call import Call
from headrace.errors import ScriptError, ServerUnavailable
from headrace.operations.core import Core
from headrace.transport.connection import CONNECTION_ERRORS
from headrace.transport.drive import Operation, Refresh, Send, Sleep
from headrace.transport.transport import Command, Unreachable

T = TypeVar("T")

MOVED = (MovedError, AskError, ClusterDownError, TryAgainError)
NOT_NOW = (BusyLoadingError, MasterDownError, ReadOnlyError)
REFUSED = (AuthenticationError, AuthorizationError)
# How servers say, in the middle of a script, that its user may not run a command or use a key.
LACKS_RIGHT = re.compile("ACL failure in script|user executing the script can't")
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 1.0


def ask(core: Core, calls: Sequence[tuple[int, Call[T]]]) -> Operation[list[T]]:
    """Makes calls, each on its shard, and reads the answers; no calls, no answers."""
    if not calls:
        return []
    replies = yield Send([(shard, core.words(shard, call)) for shard, call in calls])
    for reply in replies:
        if isinstance(reply, Exception):
            replies = yield from _recover(core, calls, replies)
            break
    return [call.decode(reply) for (_, call), reply in zip(calls, replies, strict=True)]


def ask_one(core: Core, shard: int, call: Call[T], *, again: bool = False) -> Operation[T]:
    """Makes one call; again, if what it asks for may have been done."""
    replies = yield Send([(shard, core.words(shard, call, again=again))])
    if isinstance(replies[0], Exception):
        replies = yield from _recover(core, [(shard, call)], replies, maybe_done=again)
    return call.decode(replies[0])


def _recover(
    core: Core,
    calls: Sequence[tuple[int, Call[Any]]],
    replies: list[Any],
    *,
    maybe_done: bool = False,
) -> Operation[Any]:
    """Repeats what can be repeated until every call has an answer or time is up."""
    deadline = time.monotonic() + core.retry_for
    again = [maybe_done] * len(calls)
    pause = FIRST_PAUSE
    loaded = False
    while unanswered := [i for i, reply in enumerate(replies) if isinstance(reply, Exception)]:
        missing = [calls[i] for i in unanswered if isinstance(replies[i], NoScriptError)]
        for i in unanswered:
            again[i] = _maybe_done(core, calls[i][1], replies[i]) or again[i]
        if loaded or len(missing) < len(unanswered):
            if time.monotonic() + pause > deadline:
                some_done = any(again) or len(unanswered) < len(replies)
                raise unavailable_error(replies[unanswered[0]], maybe_done=some_done)
            yield Sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - only spreads the load
            pause = min(2 * pause, LONGEST_PAUSE)
            yield Refresh()
        if missing:
            yield from _load(core, missing)
            loaded = True
        repeated = [(calls[i], again[i]) for i in unanswered]
        commands = [
            (shard, core.words(shard, call, again=repeats)) for (shard, call), repeats in repeated
        ]
        for i, reply in zip(unanswered, (yield Send(commands)), strict=True):
            replies[i] = reply
    return replies


def _maybe_done(core: Core, call: Call[Any], error: Exception) -> bool:
    """Whether a call that failed so may have been carried out; raises if it cannot be repeated."""
    if isinstance(error, NoScriptError):
        return False
    if not is_transient(error):
        raise _fault(core, call, error) from error
    return isinstance(error, CONNECTION_ERRORS) and not isinstance(error, BusyLoadingError)


def is_transient(error: Exception) -> bool:
    """Whether what went wrong may be over in a moment."""
    if isinstance(error, Unreachable):
        error = error.cause
    if isinstance(error, REFUSED):
        return False
    if type(error) is ResponseError:
        # A script of somebody else has kept the server busy for too long.
        return str(error).startswith("BUSY ")
    return isinstance(error, (*CONNECTION_ERRORS, *MOVED, *NOT_NOW))


def _load(core: Core, calls: Sequence[tuple[int, Call[Any]]]) -> Operation[None]:
    loads: list[Command] = [
        (shard, ("SCRIPT", "LOAD", core.library[call.op].text)) for shard, call in calls
    ]
    for (_, call), reply in zip(calls, (yield Send(loads)), strict=True):
        if isinstance(reply, Exception) and not is_transient(reply):
            raise _fault(core, call, reply) from reply


def load(core: Core, ops: Iterable[str]) -> Operation[None]:
    """Lets every shard know these scripts before they are first called."""
    loads: list[Command] = [
        (shard, ("SCRIPT", "LOAD", core.library[op].text))
        for op in ops
        for shard in range(core.shards)
    ]
    yield from raw(core, loads)


def _fault(core: Core, call: Call[Any], error: Exception) -> Exception:
    line = re.search(r"user_script:(\d+)", str(error))
    if LACKS_RIGHT.search(str(error)):
        return ServerUnavailable(
            f"{_lacks_right(error)}; what {call.op} did before it came to that stays, "
            "so run the audit when the rights are as they must be",
            maybe_done=True,
        )
    if line and type(error) is ResponseError:
        return ScriptError(call.op, core.library[call.op].locate(int(line[1])), str(error))
    return refusal_error(error)


def _lacks_right(error: Exception) -> str:
    return (
        f"the user of this URL lacks a right ({error}): "
        "docs/guides/operations.md, Rights, lists all"
    )


def refusal_error(error: Exception) -> ServerUnavailable:
    """The error for what will not be over in a moment."""
    if isinstance(error.cause if isinstance(error, Unreachable) else error, REFUSED):
        return ServerUnavailable(
            f"the server does not let us in ({error}): check the user and the password in the URL",
            maybe_done=False,
        )
    if isinstance(error, NoPermissionError):
        return ServerUnavailable(f"{_lacks_right(error)}; nothing was changed", maybe_done=False)
    advice = (
        "; free memory or raise maxmemory, then make the call again"
        if isinstance(error, OutOfMemoryError)
        else ""
    )
    return ServerUnavailable(
        f"the server refuses to carry this out ({error}); nothing was changed{advice}",
        maybe_done=False,
    )


def unavailable_error(error: Exception, *, maybe_done: bool) -> ServerUnavailable:
    """The error for a server that did not answer in time."""
    about = str(error) if isinstance(error, Unreachable) else f"{type(error).__name__}: {error}"
    if maybe_done:
        advice = "The call may have been carried out; look before you make it again"
    else:
        advice = "Nothing was carried out; the call can be made again"
    return ServerUnavailable(
        f"the server did not answer in time ({about}); is it running, and is the URL right? "
        f"{advice}",
        maybe_done=maybe_done,
    )


def raw(core: Core, commands: list[Command]) -> Operation[list[Any]]:
    """Sends plain commands that only read, and so may be repeated."""
    deadline = time.monotonic() + core.retry_for
    pause = FIRST_PAUSE
    while True:
        replies = yield Send(commands)
        errors = [reply for reply in replies if isinstance(reply, Exception)]
        if not errors:
            return cast(list[Any], replies)
        for error in errors:
            if not is_transient(error):
                raise refusal_error(error) from error
        if time.monotonic() + pause > deadline:
            raise unavailable_error(errors[0], maybe_done=False)
        yield Sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        yield Refresh()
