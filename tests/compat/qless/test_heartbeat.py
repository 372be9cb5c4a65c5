"""heartbeat: only the holder of a lock can renew it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.compat.qless import LostLockException, QlessException, context
from headrace.testing import START, Clock
from tests.compat.qless.conftest import OpenQless
from tests.proof import proves
from tests.support.dump import dump

NOW = START.timestamp()


def running(qless: Any) -> Any:
    """Return a job that w1 holds."""
    qless.queues["testing"].put({"old": 1}, id="j")
    return qless.queues["testing"].pop()


@proves("Q-51", "Q-55")
def test_heartbeat_extends_the_lock_and_returns_its_expiry(
    qless: Any, other: Any, clock: Clock
) -> None:
    job = running(qless)
    clock.tick(50)

    assert job.heartbeat() == NOW + 110

    assert (qless.get("j"))["expires"] == NOW + 110
    clock.tick(59)
    assert other.queues["testing"].pop() is None
    clock.tick(1)
    assert (other.queues["testing"].pop()).id == "j"


@proves("Q-51")
def test_expiration_is_relative_to_the_clock_of_the_caller(qless: Any) -> None:
    running(qless)

    expires = qless.heartbeat("j", "w1", time.time() + 100_000)

    assert NOW + 99_000 < expires <= NOW + 100_000
    assert (qless.get("j"))["expires"] == expires


@proves("Q-52", "Q-54", "QD-18")
def test_heartbeat_without_the_lock_returns_false_and_changes_nothing(
    qless: Any, other: Any, hr: Client
) -> None:
    job = running(qless)
    qless.queues["testing"].put(1, id="waiting")
    before = dump(hr)

    assert other.heartbeat("j", "w2", 4e9) is False
    assert other.heartbeat("j", "w1", 4e9) is False
    assert qless.heartbeat("j", "w2", 4e9) is False
    assert qless.heartbeat("waiting", "w1", 4e9) is False
    assert qless.heartbeat("unknown", "w1", 4e9) is False
    assert (other.jobs["j"]).heartbeat({"new": 1}) is False

    assert dump(hr) == before
    assert job.heartbeat() == NOW + 60


@proves("Q-52", "Q-54")
def test_refused_calls_raise_with_the_option_raises(open_qless: OpenQless, hr: Client) -> None:
    strict = open_qless("w1", raises=True)
    job = running(strict)
    hr.cancel("j")
    with pytest.raises(QlessException, match="does not exist"):
        job.heartbeat()

    job = running(strict)
    hr.release("j")
    before = dump(hr)
    with pytest.raises(LostLockException, match="it is waiting now"):
        job.heartbeat()
    with pytest.raises(LostLockException):
        job.complete()
    with pytest.raises(LostLockException):
        job.retry()
    with pytest.raises(QlessException):
        strict.priority("unknown", 1)
    assert dump(hr) == before


@proves("Q-53")
def test_heartbeat_replaces_the_data_unless_refused(qless: Any, other: Any) -> None:
    job = running(qless)

    job.heartbeat({"new": 1})
    assert other.heartbeat("j", "w2", 4e9, '{"other": 1}') is False
    assert (qless.jobs["j"]).data == {"new": 1}

    assert qless.heartbeat("j", "w1", 4e9, "null")
    assert (qless.jobs["j"]).data is None


@proves("Q-56", "QD-05")
def test_expired_lock_can_be_renewed_until_another_worker_pops_the_job(
    qless: Any, clock: Clock
) -> None:
    job = running(qless)
    clock.tick(500)

    assert job.heartbeat() == NOW + 560
    clock.tick(500)
    assert job.complete() == "complete"


@proves("QD-18")
def test_another_client_with_the_same_worker_name_is_not_the_holder(
    qless: Any, open_qless: OpenQless, clock: Clock
) -> None:
    twin = open_qless("w1")
    first = running(qless)
    clock.tick(60)
    second = twin.queues["testing"].pop()
    third_view = qless.jobs["j"]

    assert (second.id, second.worker) == ("j", "w1")
    assert first.complete() is False
    assert qless.complete("j") is False
    assert qless.heartbeat("j", "w1", 4e9) is False
    assert third_view.complete() is False
    assert second.complete() == "complete"


@proves("QD-18")
def test_only_the_last_delivery_to_a_client_holds_the_job(qless: Any, clock: Clock) -> None:
    first = running(qless)
    clock.tick(60)
    second = qless.queues["testing"].pop()

    assert first.heartbeat() is False
    assert first.complete() is False
    assert second.heartbeat() == NOW + 120
    qless.context.drop_lease(first.lease)
    assert qless.complete("j") == "complete"


@proves("Q-04", "Q-57")
@pytest.mark.parametrize(
    "arguments",
    [
        ("j", "", 4e9),
        ("j", "w1", "soon"),
        ("j", "w1", NOW - 10**9),
        ("j", "w1", 4e9, "{no json"),
        ("", "w1", 4e9),
    ],
)
def test_heartbeat_with_invalid_arguments_changes_nothing(
    qless: Any, hr: Client, arguments: tuple[Any, ...]
) -> None:
    running(qless)
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        qless.heartbeat(*arguments)

    assert dump(hr) == before


@proves("Q-57")
def test_empty_worker_name_is_refused(open_qless: OpenQless) -> None:
    with pytest.raises(InvalidArgument):
        open_qless("")


@proves("QD-18")
def test_job_that_is_looked_up_uses_the_lease_of_the_client(qless: Any) -> None:
    running(qless)

    found = qless.jobs["j"]

    assert found.heartbeat({"new": 1}) == NOW + 60
    assert found.complete() == "complete"
    assert found.complete() is False


@proves("QD-18")
def test_client_forgets_old_leases_but_a_job_object_keeps_its_own(
    qless: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "MAX_LEASES", 2)
    for name in "abc":
        qless.queues["testing"].put(1, id=name)
    first, *_ = qless.queues["testing"].pop(3)

    assert qless.complete("a") is False
    assert qless.complete("b") == "complete"
    assert first.complete() == "complete"
