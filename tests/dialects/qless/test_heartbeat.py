"""heartbeat: a lock is renewed by who holds it, and by nobody else."""

from __future__ import annotations

import time
from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.compat.qless import LostLockException, QlessException, dialect
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.clients import got
from tests.support.dump import dump

NOW = START.timestamp()


async def running(qless: Any) -> Any:
    """A job that w1 holds."""
    await got(qless.queues["testing"].put({"old": 1}, id="j"))
    return await got(qless.queues["testing"].pop())


@proves("Q-51", "Q-55")
async def test_a_heartbeat_pushes_the_expiry_back_and_returns_it(
    qless: Any, other: Any, clock: Clock
) -> None:
    job = await running(qless)
    clock.tick(50)

    assert await got(job.heartbeat()) == NOW + 110

    assert (await got(qless.get("j")))["expires"] == NOW + 110
    clock.tick(59)
    assert await got(other.queues["testing"].pop()) is None
    clock.tick(1)
    assert (await got(other.queues["testing"].pop())).id == "j"


@proves("Q-51")
async def test_an_expiration_is_as_far_off_as_it_is_by_the_clock_of_the_caller(qless: Any) -> None:
    await running(qless)

    expires = await got(qless.heartbeat("j", "w1", time.time() + 100_000))

    assert NOW + 99_000 < expires <= NOW + 100_000
    assert (await got(qless.get("j")))["expires"] == expires


@proves("Q-52", "Q-54", "QD-18")
async def test_who_does_not_hold_the_job_gets_false_and_nothing_changes(
    qless: Any, other: Any, hr: Client
) -> None:
    job = await running(qless)
    await got(qless.queues["testing"].put(1, id="waiting"))
    before = dump(hr)

    assert await got(other.heartbeat("j", "w2", 4e9)) is False
    assert await got(other.heartbeat("j", "w1", 4e9)) is False
    assert await got(qless.heartbeat("j", "w2", 4e9)) is False
    assert await got(qless.heartbeat("waiting", "w1", 4e9)) is False
    assert await got(qless.heartbeat("unknown", "w1", 4e9)) is False
    assert await got((await got(other.jobs["j"])).heartbeat({"new": 1})) is False

    assert dump(hr) == before
    assert await got(job.heartbeat()) == NOW + 60


@proves("Q-52", "Q-54")
async def test_what_is_refused_raises_where_that_is_asked_for(opening: Any, hr: Client) -> None:
    strict = opening("w1", raises=True)
    job = await running(strict)
    hr.cancel("j")
    with pytest.raises(QlessException, match="unknown"):
        await got(job.heartbeat())

    job = await running(strict)
    hr.release("j")
    before = dump(hr)
    with pytest.raises(LostLockException, match="it is waiting now"):
        await got(job.heartbeat())
    with pytest.raises(LostLockException):
        await got(job.complete())
    with pytest.raises(LostLockException):
        await got(job.retry())
    with pytest.raises(QlessException):
        await got(strict.priority("unknown", 1))
    assert dump(hr) == before


@proves("Q-53")
async def test_a_heartbeat_may_replace_the_data_and_a_refused_one_does_not(
    qless: Any, other: Any
) -> None:
    job = await running(qless)

    await got(job.heartbeat({"new": 1}))
    assert await got(other.heartbeat("j", "w2", 4e9, '{"other": 1}')) is False
    assert (await got(qless.jobs["j"])).data == {"new": 1}

    assert await got(qless.heartbeat("j", "w1", 4e9, "null"))
    assert (await got(qless.jobs["j"])).data is None


@proves("Q-56", "QD-05")
async def test_a_lock_that_ran_out_is_its_holders_until_somebody_takes_the_job(
    qless: Any, clock: Clock
) -> None:
    job = await running(qless)
    clock.tick(500)

    assert await got(job.heartbeat()) == NOW + 560
    clock.tick(500)
    assert await got(job.complete()) == "complete"


@proves("QD-18")
async def test_a_worker_of_the_same_name_is_not_the_same_holder(
    qless: Any, opening: Any, clock: Clock
) -> None:
    twin = opening("w1")
    first = await running(qless)
    clock.tick(60)
    second = await got(twin.queues["testing"].pop())
    third_view = await got(qless.jobs["j"])

    assert (second.id, second.worker) == ("j", "w1")
    assert await got(first.complete()) is False
    assert await got(qless.complete("j")) is False
    assert await got(qless.heartbeat("j", "w1", 4e9)) is False
    assert await got(third_view.complete()) is False
    assert await got(second.complete()) == "complete"


@proves("QD-18")
async def test_of_two_deliveries_to_one_client_only_the_last_counts(
    qless: Any, clock: Clock
) -> None:
    first = await running(qless)
    clock.tick(60)
    second = await got(qless.queues["testing"].pop())

    assert await got(first.heartbeat()) is False
    assert await got(first.complete()) is False
    assert await got(second.heartbeat()) == NOW + 120
    qless.dialect.let_go(first.lease)
    assert await got(qless.complete("j")) == "complete"


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
async def test_a_heartbeat_that_is_not_as_the_document_says_changes_nothing(
    qless: Any, hr: Client, arguments: tuple[Any, ...]
) -> None:
    await running(qless)
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        await got(qless.heartbeat(*arguments))

    assert dump(hr) == before


@proves("Q-57")
async def test_a_worker_without_a_name_opens_nothing(opening: Any) -> None:
    with pytest.raises(InvalidArgument):
        opening("")


@proves("QD-18")
async def test_what_a_client_holds_it_also_holds_when_it_looks_the_job_up(qless: Any) -> None:
    await running(qless)

    found = await got(qless.jobs["j"])

    assert await got(found.heartbeat({"new": 1})) == NOW + 60
    assert await got(found.complete()) == "complete"
    assert await got(found.complete()) is False


@proves("QD-18")
async def test_a_client_remembers_only_so_many_deliveries_but_each_job_knows_its_own(
    qless: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialect, "MOST_HELD", 2)
    for name in "abc":
        await got(qless.queues["testing"].put(1, id=name))
    first, *_ = await got(qless.queues["testing"].pop(3))

    assert await got(qless.complete("a")) is False
    assert await got(qless.complete("b")) == "complete"
    assert await got(first.complete()) == "complete"
