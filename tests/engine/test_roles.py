"""The permissions of producers and observers: no operation changes more than the role allows."""

from __future__ import annotations

from typing import Any

import pytest
from redis.exceptions import NoPermissionError

from headrace import Client, ServerUnavailable
from headrace.engine import keys
from headrace.engine.call import Call
from headrace.engine.script import LIBRARY, operations, source
from headrace.operations.requests import ask_one
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.engine.support.changing_calls import calls, prepare
from tests.support.dump import dump
from tests.support.roles import opened_as

MAY_CHANGE = sorted(op for op in operations() if source(f"ops/{op}").role == "worker")


def test_only_a_put_needs_the_role_producer() -> None:
    roles = {op: source(f"ops/{op}").role for op in operations()}
    assert [op for op, role in roles.items() if role == "producer"] == ["put"]
    assert {op for op, role in roles.items() if role == "observer"} == {
        op for op in operations() if LIBRARY.operations[op].script.read_only
    }


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("op", MAY_CHANGE)
def test_every_operation_of_a_worker_is_refused_for_others(
    hr: Client, clock: Clock, url: str, op: str
) -> None:
    prepare(hr, clock)
    call = calls(hr)[op]
    before = content(hr)

    for role in ("producer", "observer"):
        with opened_as(role, url, hr) as other, pytest.raises(ServerUnavailable) as refusal:
            ask(other, call)
        assert not refusal.value.maybe_done
        assert isinstance(refusal.value.__cause__, NoPermissionError)
        if role == "producer":
            assert str(refusal.value.__cause__) == f"{op} needs the permissions of a worker"
        assert content(hr) == before

    with opened_as("worker", url, hr) as worker:
        answer = ask(worker, call)
    assert content(hr) != before, answer


def content(hr: Client) -> dict[str, Any]:
    """Return every key of the namespace with its content, including the list of libraries."""
    [libraries] = hr.core.transport.send([(0, ("HGETALL", hr.core.key(0, keys.LIBRARIES)))])
    return {**dump(hr), keys.LIBRARIES: libraries}


def ask(client: Client, call: Call[Any]) -> Any:
    """Return the reply to a call on the first shard."""
    return drive(client.core.transport, ask_one(client.core, 0, call))
