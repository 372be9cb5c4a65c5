"""Send script calls to the server, retry them, and turn error replies into exceptions.

These are generators that do no I/O: they yield requests and receive the results. `drive` and
`drive_async` carry the requests out, sync or async.
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

REDIRECTS = (MovedError, AskError, ClusterDownError, TryAgainError)
TEMPORARY = (BusyLoadingError, MasterDownError, ReadOnlyError)
LOGIN_ERRORS = (AuthenticationError, AuthorizationError)
# Error replies of a script whose user may not run a command or use a key.
NO_PERMISSION = re.compile("ACL failure in script|user executing the script can't")
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 1.0


def ask(core: Core, calls: Sequence[tuple[int, Call[T]]]) -> Operation[list[T]]:
    """Make calls, each on its shard, and return their decoded answers in order.

    Raises ServerUnavailable if a call is refused or not answered in time, ScriptError if a script
    fails.
    """
    if not calls:
        return []
    replies = yield Send([(shard, core.words(shard, call)) for shard, call in calls])
    for reply in replies:
        if isinstance(reply, Exception):
            replies = yield from _recover(core, calls, replies)
            break
    return [call.decode(reply) for (_, call), reply in zip(calls, replies, strict=True)]


def ask_one(core: Core, shard: int, call: Call[T], *, again: bool = False) -> Operation[T]:
    """Make one call and return its answer; `again` if an earlier attempt may have succeeded."""
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
    """Repeat failed calls until all have answers; raise ServerUnavailable after `retry_for`."""
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
    """Return whether a failed call may have been carried out; raise if it cannot be repeated."""
    if isinstance(error, NoScriptError):
        return False
    if not is_transient(error):
        raise _call_error(core, call, error) from error
    return isinstance(error, CONNECTION_ERRORS) and not isinstance(error, BusyLoadingError)


def is_transient(error: Exception) -> bool:
    """Return whether a call that failed with this error may succeed if it is repeated."""
    if isinstance(error, Unreachable):
        error = error.cause
    if isinstance(error, LOGIN_ERRORS):
        return False
    if type(error) is ResponseError:
        # A script of another program has kept the server busy for too long.
        return str(error).startswith("BUSY ")
    return isinstance(error, (*CONNECTION_ERRORS, *REDIRECTS, *TEMPORARY))


def _load(core: Core, calls: Sequence[tuple[int, Call[Any]]]) -> Operation[None]:
    loads: list[Command] = [
        (shard, ("SCRIPT", "LOAD", core.library[call.op].text)) for shard, call in calls
    ]
    for (_, call), reply in zip(calls, (yield Send(loads)), strict=True):
        if isinstance(reply, Exception) and not is_transient(reply):
            raise _call_error(core, call, reply) from reply


def load(core: Core, ops: Iterable[str]) -> Operation[None]:
    """Load scripts on every shard before they are first called."""
    loads: list[Command] = [
        (shard, ("SCRIPT", "LOAD", core.library[op].text))
        for op in ops
        for shard in range(core.shards)
    ]
    yield from raw(core, loads)


def _call_error(core: Core, call: Call[Any], error: Exception) -> Exception:
    line = re.search(r"user_script:(\d+)", str(error))
    if NO_PERMISSION.search(str(error)):
        return ServerUnavailable(
            f"{_permission_text(error)}; {call.op} may have been carried out in part, so run the "
            "audit after you have granted the permission",
            maybe_done=True,
        )
    if line and type(error) is ResponseError:
        return ScriptError(call.op, core.library[call.op].locate(int(line[1])), str(error))
    return refusal_error(error)


def _permission_text(error: Exception) -> str:
    return (
        f"the user of this URL lacks a permission ({error}): "
        "docs/guides/operations.md, Rights, lists all of them"
    )


def refusal_error(error: Exception) -> ServerUnavailable:
    """Return the error for a reply that a repeated call would get again."""
    if isinstance(error.cause if isinstance(error, Unreachable) else error, LOGIN_ERRORS):
        return ServerUnavailable(
            f"the server refused the login ({error}): check the user and the password in the URL",
            maybe_done=False,
        )
    if isinstance(error, NoPermissionError):
        return ServerUnavailable(
            f"{_permission_text(error)}; nothing was changed", maybe_done=False
        )
    advice = (
        "; free memory or raise maxmemory, then repeat the call"
        if isinstance(error, OutOfMemoryError)
        else ""
    )
    return ServerUnavailable(
        f"the server refused the call ({error}); nothing was changed{advice}",
        maybe_done=False,
    )


def unavailable_error(error: Exception, *, maybe_done: bool) -> ServerUnavailable:
    """Return the error for a server that did not answer in time."""
    about = str(error) if isinstance(error, Unreachable) else f"{type(error).__name__}: {error}"
    if maybe_done:
        advice = "The call may have been carried out; check before you repeat it"
    else:
        advice = "Nothing was changed; the call can be repeated"
    return ServerUnavailable(
        f"the server did not answer in time ({about}); is it running, and is the URL right? "
        f"{advice}",
        maybe_done=maybe_done,
    )


def raw(core: Core, commands: list[Command]) -> Operation[list[Any]]:
    """Send plain commands and return their replies; they must only read, because they are retried.

    Raises ServerUnavailable if a command is refused or not answered in time.
    """
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
