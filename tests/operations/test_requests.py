"""A refused call reports whether it may have changed something."""

from __future__ import annotations

from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoPermissionError, OutOfMemoryError

from headrace import Limits, ServerUnavailable
from headrace.codecs.codec import codec_of
from headrace.engine.call import Call
from headrace.engine.script import LIBRARY
from headrace.operations.batches import in_batches
from headrace.operations.core import Core
from headrace.operations.requests import ask, ask_one, together, unchanged
from headrace.transport.drive import Operation, Send, drive

FULL = OutOfMemoryError(
    "command not allowed when used memory > 'maxmemory'. script: on @user_script:7."
)
FORBIDDEN = NoPermissionError("this user has no permissions to run the 'evalsha' command")
CALL = Call("counts", ("mail",), unchanged)


@pytest.fixture
def core() -> Core:
    return Core(
        None,
        "shop",
        codec=codec_of("json"),
        limits=Limits(),
        library=LIBRARY,
        retry_for=60,
        timeout=5,
    )


def refusal(operation: Operation[Any], *replies: list[Any]) -> ServerUnavailable:
    """Answer the requests of an operation with these replies, and return its error."""
    remaining = list(replies)

    def answer(effect: Any) -> Any:
        return remaining.pop(0) if isinstance(effect, Send) else None

    effect = next(operation)
    try:
        while True:
            effect = operation.send(answer(effect))
    except ServerUnavailable as error:
        assert remaining == []
        return error


def assert_maybe_done(error: ServerUnavailable) -> None:
    assert error.maybe_done is True
    assert "a part of the call may have been carried out" in str(error)
    assert "nothing was changed" not in str(error)


def test_refused_call_changed_nothing(core: Core) -> None:
    error = refusal(ask_one(core, 0, CALL), [FULL])

    assert error.maybe_done is False
    assert "nothing was changed; free memory or raise maxmemory, then repeat" in str(error)


@pytest.mark.parametrize("replies", [[1, FULL], [FULL, 1], [1, FORBIDDEN]])
def test_refusal_of_one_shard_reports_that_another_shard_succeeded(
    core: Core, replies: list[Any]
) -> None:
    assert_maybe_done(refusal(ask(core, [(0, CALL), (0, CALL)]), replies))


def test_refusal_of_a_repeated_call_reports_that_the_first_call_may_have_succeeded(
    core: Core,
) -> None:
    assert_maybe_done(refusal(ask_one(core, 0, CALL), [RedisConnectionError("reset")], [FORBIDDEN]))


def test_refusal_of_a_later_batch_reports_that_an_earlier_batch_succeeded(core: Core) -> None:
    def make(rows: Any) -> Call[list[Any]]:
        return Call("put", ("mail", b""), lambda _: list(rows))

    rows = [(str(number),) for number in range(3)]
    assert_maybe_done(refusal(in_batches(core, rows, make, most=2), [1], [FULL]))


class ScriptedTransport:
    """A transport that returns these replies, and records how many commands each trip sends."""

    def __init__(self, *replies: list[Any]) -> None:
        self._replies = iter(replies)
        self.trips: list[int] = []

    def send(self, commands: list[Any]) -> list[Any]:
        self.trips.append(len(commands))
        return next(self._replies)

    def sleep(self, seconds: float) -> None: ...

    def refresh(self) -> None: ...


def test_operations_that_run_together_share_round_trips(core: Core) -> None:
    def two_calls() -> Operation[list[int]]:
        first = yield from ask_one(core, 0, CALL)
        return [first, (yield from ask_one(core, 0, CALL))]

    transport: Any = ScriptedTransport([1, 2, RedisConnectionError("reset")], [4], [3])
    operation = together(two_calls(), ask(core, []), ask(core, [(0, CALL), (0, CALL)]))

    assert drive(transport, operation) == [[1, 4], [], [2, 3]]
    assert transport.trips == [3, 1, 1]
