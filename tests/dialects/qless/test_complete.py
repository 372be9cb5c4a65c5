"""complete: a job ends well, or moves on."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.clients import got
from tests.support.dump import dump

NOW = START.timestamp()


async def running(qless: Any, **options: Any) -> Any:
    """A job that w1 holds."""
    await got(qless.queues["testing"].put({"old": 1}, id="j", **options))
    return await got(qless.queues["testing"].pop())


@proves("Q-60", "Q-61", "Q-63", "QD-01")
async def test_complete_by_id_alone_ends_the_job_and_returns_its_state(
    qless: Any, clock: Clock
) -> None:
    await running(qless)
    clock.tick(7)

    assert await got(qless.complete("j")) == "complete"

    job = await got(qless.get("j"))
    assert (job["state"], job["queue"], job["worker"], job["expires"]) == ("complete", None, "", 0)
    assert job["history"] == [["testing", NOW, NOW, NOW + 7, "w1"]]


@proves("Q-62")
async def test_who_may_not_complete_gets_false_and_nothing_changes(
    qless: Any, other: Any, hr: Client
) -> None:
    done = await running(qless)
    await got(done.complete())
    failed = qless.queues["failing"]
    await got(failed.put(1, id="failed"))
    lost = await got(failed.pop())
    await got(lost.fail("kind", "why"))
    await got(failed.put(1, id="cancelled"))
    cancelled = await got(failed.pop())
    await got(qless.cancel("cancelled"))
    await got(failed.put(1, id="waiting"))
    await got(failed.put(1, -1, id="of w1"))
    await got(failed.pop())
    before = dump(hr)

    for job in (done, lost, cancelled):
        assert await got(job.complete()) is False
    for name in ("unknown", "waiting", "j", "failed", "of w1"):
        assert await got(other.complete(name)) is False

    assert dump(hr) == before


@proves("Q-61", "Q-64")
async def test_complete_with_a_queue_moves_the_job_on_in_the_same_step(
    qless: Any, hr: Client, clock: Clock
) -> None:
    await running(qless, priority=-3, tags=["t"])
    clock.tick(5)

    assert await got(qless.complete("j", '{"new": 1}', "next")) == "waiting"

    job = await got(qless.jobs["j"])
    assert (job.queue, job.priority, job.tags, job.data) == ("next", -3, ["t"], {"new": 1})
    assert job.history == [
        ["testing", NOW, NOW, NOW + 5, "w1"],
        ["next", NOW + 5, None, None, None],
    ]
    assert hr.audit().balanced


@proves("Q-61", "Q-64")
async def test_the_next_queue_may_be_the_same_and_come_after_a_delay(
    qless: Any, clock: Clock
) -> None:
    job = await running(qless)

    assert await got(job.complete("testing", 10)) == "scheduled"
    clock.tick(10)
    again = await got(qless.queues["testing"].pop())

    assert again.id == "j"
    assert await got(qless.complete("j", None, "later", 5)) == "scheduled"


@proves("Q-64", "QL-11")
async def test_a_job_that_moves_on_may_depend_on_others(qless: Any) -> None:
    job = await running(qless)
    await got(qless.queues["first"].put(1, id="before"))

    assert await got(job.complete("next", depends=["before"])) == "depends"
    await got((await got(qless.queues["first"].pop())).complete())

    assert (await got(qless.jobs["j"])).state == "waiting"


@proves("Q-65")
async def test_completing_may_replace_the_data(qless: Any) -> None:
    job = await running(qless)

    await got(job.complete(data=None))

    assert (await got(qless.jobs["j"])).data is None


@proves("Q-66")
async def test_the_running_time_is_booked_for_the_queue_in_which_the_job_ran(
    qless: Any, clock: Clock
) -> None:
    await running(qless)
    clock.tick(3)
    await got(qless.complete("j", None, "next"))

    assert (await got(qless.stats("testing")))["run"]["mean"] == 3
    assert (await got(qless.stats("next")))["run"]["total"] == 0


@proves("Q-13", "Q-15", "Q-67")
async def test_each_completion_prunes_what_is_too_many(qless: Any) -> None:
    queue = qless.queues["testing"]
    await got(qless.set_config("jobs-history-count", 2))
    for name in "abc":
        await got(queue.put(1, id=name))
        await got((await got(queue.pop())).complete())

    assert await got(queue.jobs("complete")) == ["c", "b"]
    assert await got(qless.get("a")) is None


@proves("QD-13")
async def test_the_job_knows_its_queue_and_leaves_nothing_behind_there(
    qless: Any, hr: Client
) -> None:
    await running(qless)
    await got(qless.complete("j"))

    assert await got(qless.queues["testing"].length()) == 0
    assert hr.audit().balanced


@proves("Q-04")
@pytest.mark.parametrize(
    "arguments", [("j", "{no json"), ("j", None, ""), ("j", None, "next", "later"), ("",)]
)
async def test_a_complete_that_is_not_as_the_document_says_changes_nothing(
    qless: Any, hr: Client, arguments: tuple[Any, ...]
) -> None:
    await running(qless)
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        await got(qless.complete(*arguments))

    assert dump(hr) == before
