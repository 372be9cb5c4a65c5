"""Send script calls to the server, retry them, and turn error replies into exceptions.

The functions are generators that do no I/O: they yield requests and receive the results. `drive`
and `drive_async` carry out the requests.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from itertools import islice
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
from headrace.retry_pause import RetryPause
from headrace.transport.connection import CONNECTION_ERRORS
from headrace.transport.drive import Operation, Refresh, Send, Sleep
from headrace.transport.transport import Command, Unreachable

T = TypeVar("T")

REDIRECTS = (MovedError, AskError, ClusterDownError, TryAgainError)
TEMPORARY = (BusyLoadingError, MasterDownError, ReadOnlyError)
LOGIN_ERRORS = (AuthenticationError, AuthorizationError)
# Matches the error of a server that refuses every write for now: because of its disk, or because it
# has too few replicas. A script that the server stops for this reason has not written anything.
WRITES_REFUSED = re.compile("(?:MISCONF|NOREPLICAS) ")
# Matches the error of a script that runs a command or uses a key without permission.
NO_PERMISSION = re.compile("ACL failure in script|user executing the script can't")
# Matches the error of a server that refuses to run a function: the command is unknown or not
# permitted, or the memory is full. A full server refuses a function that may write before the
# function runs. A script runs until it writes, so it can still answer, for example that the job of
# a repeated put exists. If the server stops a script, the error ends with the position in the
# script, so the pattern does not match.
FUNCTION_REFUSED = re.compile(r"(?i)'fcall|used memory > 'maxmemory'\.?$")
# Matches the error of a user who may run neither functions nor scripts that may write.
MAY_ONLY_READ = re.compile("(?i)'evalsha'")
UNFINISHED = b"UNFINISHED"
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 1.0


class Retries:
    """The pauses between the retries of one request, for up to `retry_for` seconds in total."""

    def __init__(self, core: Core, retry_for: float | None = None) -> None:
        seconds = core.retry_for if retry_for is None else retry_for
        self._deadline = time.monotonic() + seconds
        self._pause = RetryPause(FIRST_PAUSE, LONGEST_PAUSE)

    def pause(self, error: Exception, *, maybe_done: bool) -> Operation[None]:
        """Sleep, then look up the nodes again; raise ServerUnavailable if no time is left."""
        seconds = self._pause.next_pause()
        if time.monotonic() + seconds > self._deadline:
            raise unavailable_error(error, maybe_done=maybe_done) from error
        yield Sleep(seconds * random.uniform(0.5, 1.5))  # noqa: S311 - only spreads the load
        yield Refresh()

    def pause_after(self, failure: ServerUnavailable) -> Operation[None]:
        """Sleep before the retry of a request that raised this exception, if a retry may help."""
        cause = failure.__cause__
        if not is_transient(cause):
            raise failure
        error = cause if isinstance(cause, Exception) else failure
        yield from self.pause(error, maybe_done=failure.maybe_done)


def unchanged(reply: Any) -> Any:
    """Return a reply unchanged; this is the decoder of calls whose replies need no decoding."""
    return reply


def ask_all(core: Core, call: Call[T]) -> Operation[list[T]]:
    """Make the same call on every shard and return the answers by shard."""
    return (yield from ask(core, [(shard, call) for shard in range(core.shards)]))


def ask(
    core: Core,
    calls: Sequence[tuple[int, Call[T]]],
    *,
    part_done: bool = False,
    repeat_all: bool = False,
) -> Operation[list[T]]:
    """Make calls, each on its shard, and return their decoded answers in order.

    `part_done` means that the calls continue an operation that has already changed something. With
    `repeat_all`, every retry repeats all calls, also those that the server has answered.

    Raises ServerUnavailable if a call is refused or not answered in time, ScriptError if a script
    fails.
    """
    if not calls:
        return []
    replies = yield Send([(shard, core.words(shard, call)) for shard, call in calls])
    for reply in replies:
        if isinstance(reply, Exception):
            replies = yield from _recover(
                core, calls, replies, part_done=part_done, repeat_all=repeat_all
            )
            break
    return [call.decode(reply) for (_, call), reply in zip(calls, replies, strict=True)]


def together(*operations: Operation[Any]) -> Operation[list[Any]]:
    """Carry out operations at the same time, and return their results in order.

    The next commands of all operations share a round trip.
    """
    results: list[Any] = [None] * len(operations)
    answers: dict[int, Any] = dict.fromkeys(range(len(operations)))
    while answers:
        effects: dict[int, Any] = {}
        for i, answer in answers.items():
            try:
                effects[i] = operations[i].send(answer)
            except StopIteration as end:
                results[i] = end.value
        sends = {i: effect for i, effect in effects.items() if type(effect) is Send}
        answers = {}
        if sends:
            replies = iter((yield Send([one for send in sends.values() for one in send.commands])))
            answers = {i: list(islice(replies, len(send.commands))) for i, send in sends.items()}
        for i in effects.keys() - sends.keys():
            answers[i] = yield effects[i]
    return results


def ask_one(
    core: Core,
    shard: int,
    call: Call[T],
    *,
    again: bool = False,
    retry_for: float | None = None,
) -> Operation[T]:
    """Make one call and return its answer; set `again` if an earlier attempt may have succeeded.

    `retry_for` replaces the time in seconds for which the client retries calls.
    """
    replies = yield Send([(shard, core.words(shard, call, again=again))])
    if isinstance(replies[0], Exception):
        replies = yield from _recover(
            core, [(shard, call)], replies, maybe_done=again, retry_for=retry_for
        )
    return call.decode(replies[0])


def ask_if_allowed(core: Core, shard: int, call: Call[T]) -> Operation[T | None]:
    """Make one call, or return None if the server refuses the write.

    A server refuses a write if it refuses all writes, if its memory is full, or if the user lacks a
    permission.
    """
    replies = yield Send([(shard, core.words(shard, call))])
    if isinstance(replies[0], Exception) and _needs_load(replies[0]):
        yield from _load(core, [(shard, call)])
        replies = yield Send([(shard, core.words(shard, call))])
    if isinstance(replies[0], (NoPermissionError, OutOfMemoryError)) or refuses_writes(replies[0]):
        return None
    if isinstance(replies[0], Exception):
        replies = yield from _recover(core, [(shard, call)], replies)
    return call.decode(replies[0])


def _recover(
    core: Core,
    calls: Sequence[tuple[int, Call[Any]]],
    replies: list[Any],
    *,
    maybe_done: bool = False,
    part_done: bool = False,
    repeat_all: bool = False,
    retry_for: float | None = None,
) -> Operation[Any]:
    """Repeat failed calls until all succeed; raise ServerUnavailable after `retry_for` seconds."""
    retries = Retries(core, retry_for)
    again = [maybe_done] * len(calls)
    loaded = False
    while unanswered := [i for i, reply in enumerate(replies) if isinstance(reply, Exception)]:
        missing = [calls[i] for i in unanswered if _needs_load(replies[i])]
        for i in unanswered:
            again[i] = again[i] or _is_maybe_done(replies[i])
        some_done = part_done or any(again) or len(unanswered) < len(replies)
        _raise_refusal(core, calls, replies, maybe_done=some_done)
        if loaded or len(missing) < len(unanswered):
            yield from retries.pause(replies[unanswered[0]], maybe_done=some_done)
        if any(FUNCTION_REFUSED.search(str(replies[i])) for i in unanswered):
            core.use_scripts()
        if missing:
            yield from _load(core, missing)
            loaded = True
        repeated = range(len(calls)) if repeat_all else unanswered
        commands = [
            (shard, core.words(shard, call, again=again[i]))
            for i in repeated
            for shard, call in [calls[i]]
        ]
        for i, reply in zip(repeated, (yield Send(commands)), strict=True):
            replies[i] = yield from _finished(core, calls[i], reply)
    return replies


def _finished(core: Core, placed_call: tuple[int, Call[Any]], reply: Any) -> Operation[Any]:
    """Repeat a call that searches for the effect of its first attempt in several steps."""
    shard, call = placed_call
    while isinstance(reply, list) and reply[:1] == [UNFINISHED]:
        step = Call(call.op, call.args, call.decode, reply[1])
        [reply] = yield Send([(shard, core.words(shard, step))])
    return reply


def _raise_refusal(
    core: Core, calls: Sequence[tuple[int, Call[Any]]], replies: list[Any], *, maybe_done: bool
) -> None:
    """Raise the error of the first failed call that a retry cannot fix."""
    for (_, call), reply in zip(calls, replies, strict=True):
        if isinstance(reply, Exception) and not _needs_load(reply) and not is_transient(reply):
            raise _call_error(core, call, reply, maybe_done=maybe_done) from reply


def _is_maybe_done(error: Exception) -> bool:
    """Return whether the server may have carried out a call that failed with this error."""
    return isinstance(error, CONNECTION_ERRORS) and not isinstance(error, BusyLoadingError)


def is_transient(error: BaseException | None) -> bool:
    """Return whether a call that failed with this error may succeed if it is repeated."""
    if isinstance(error, Unreachable):
        error = error.cause
    if isinstance(error, LOGIN_ERRORS):
        return False
    if type(error) is ResponseError:
        # The server replies BUSY while a script of another program runs for too long.
        return str(error).startswith("BUSY ") or refuses_writes(error)
    return isinstance(error, (*CONNECTION_ERRORS, *REDIRECTS, *TEMPORARY))


def refuses_writes(reply: Any) -> bool:
    """Return whether a reply is the error of a server that refuses every write for now.

    Such a server still runs scripts that only read.
    """
    if isinstance(reply, ResponseError) and WRITES_REFUSED.match(str(reply)):
        return True
    return isinstance(reply, ReadOnlyError)


def _needs_load(error: Exception) -> bool:
    """Return whether the call may succeed after the library is loaded, as functions or a script."""
    is_missing = isinstance(error, NoScriptError) or "Function not found" in str(error)
    return is_missing or FUNCTION_REFUSED.search(str(error)) is not None


def _load(core: Core, calls: Sequence[tuple[int, Call[Any]]]) -> Operation[None]:
    """Load the library where it is missing, as a script if the server refuses functions."""
    if not core.uses_scripts:
        shards = sorted({shard for shard, _ in calls})
        replies = yield Send([(shard, ("FUNCTION", "LOAD", core.library.text)) for shard in shards])
        if not any(_refuses_functions(reply) for reply in replies):
            return
        core.use_scripts()
    texts = {(shard, core.library.operations[call.op].script.text): call for shard, call in calls}
    loads: list[Command] = [(shard, ("SCRIPT", "LOAD", text)) for shard, text in texts]
    for call, reply in zip(texts.values(), (yield Send(loads)), strict=True):
        if isinstance(reply, Exception) and not is_transient(reply):
            raise _call_error(core, call, reply, maybe_done=False) from reply


def _refuses_functions(reply: Any) -> bool:
    """Return whether a server cannot load functions; another client may have loaded them."""
    if refuses_writes(reply):
        return True
    if not isinstance(reply, Exception) or is_transient(reply):
        return False
    return "already exists" not in str(reply)


def load(core: Core) -> Operation[None]:
    """Load the library on every shard before its first call."""
    ping = Call("session_renew", (), unchanged)
    yield from _load(core, [(shard, ping) for shard in range(core.shards)])


def _call_error(core: Core, call: Call[Any], error: Exception, *, maybe_done: bool) -> Exception:
    if MAY_ONLY_READ.search(str(error)):
        core.use_functions()
    line = re.search(r"user_(?:function|script):(\d+)", str(error))
    if NO_PERMISSION.search(str(error)):
        return ServerUnavailable(
            f"{_permission_text(error)}; {call.op} may have been carried out in part, so run the "
            "audit after you have granted the permission",
            maybe_done=True,
        )
    if line and type(error) is ResponseError:
        return ScriptError(call.op, core.library.locate(int(line[1])), str(error))
    return refusal_error(error, maybe_done=maybe_done)


def _permission_text(error: Exception) -> str:
    return (
        f"the user of this URL lacks a permission ({error}): "
        "docs/guides/operations.md, Rights, lists all permissions"
    )


def refusal_error(error: Exception, *, maybe_done: bool = False) -> ServerUnavailable:
    """Return the exception for an error reply that a repeated call would get again.

    `maybe_done` means that an earlier attempt or another part of the call may have been carried
    out.
    """
    effect = "a part of the call may have been carried out" if maybe_done else "nothing was changed"
    if isinstance(error.cause if isinstance(error, Unreachable) else error, LOGIN_ERRORS):
        text = f"the server refused the login ({error}): check the user and the password in the URL"
    elif isinstance(error, NoPermissionError):
        text = f"{_permission_text(error)}; {effect}"
    else:
        text = f"the server refused the call ({error}); {effect}"
    if isinstance(error, OutOfMemoryError):
        text += "; free memory or raise maxmemory, then " + (
            "check which part to repeat" if maybe_done else "repeat the call"
        )
    return ServerUnavailable(text, maybe_done=maybe_done)


def unavailable_error(error: Exception, *, maybe_done: bool) -> ServerUnavailable:
    """Return the exception for a server that did not answer in time."""
    about = str(error) if isinstance(error, Unreachable) else f"{type(error).__name__}: {error}"
    if maybe_done:
        advice = "The call may have been carried out; check before you repeat it"
    else:
        advice = "Nothing was changed; the call can be repeated"
    if refuses_writes(error):
        text = (
            f"the server refuses all writes ({error}): check its disk and its replicas, and that "
            "the URL does not name a replica."
        )
    else:
        text = f"the server did not answer in time ({about}); is it running, and is the URL right?"
    return ServerUnavailable(f"{text} {advice}", maybe_done=maybe_done)


def check_permission(subscription: Any) -> None:
    """Raise ServerUnavailable if the user lacks the permission for a channel of a subscription."""
    if isinstance(subscription.cause, NoPermissionError):
        raise refusal_error(subscription.cause) from subscription.cause


def raw(core: Core, commands: list[Command]) -> Operation[list[Any]]:
    """Send plain commands that are safe to repeat, retry them if needed, and return the replies.

    Raises ServerUnavailable if a command is refused or not answered in time.
    """
    retries = Retries(core)
    while True:
        replies = yield Send(commands)
        errors = [reply for reply in replies if isinstance(reply, Exception)]
        if not errors:
            return cast(list[Any], replies)
        for error in errors:
            if not is_transient(error):
                raise refusal_error(error) from error
        yield from retries.pause(errors[0], maybe_done=False)
