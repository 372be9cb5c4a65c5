"""What later versions of qless added to the document, for jobs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace import Client, HasDependents, InvalidArgument
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.clients import got
from tests.support.dump import dump
from tests.support.servers import until

NOW = START.timestamp()


async def running(queue: Any, name: str = "j", **options: Any) -> Any:
    """A job that w1 holds."""
    await got(queue.put(1, id=name, **options))
    return await got(queue.pop())


@proves("QL-01", "QD-15")
async def test_cancel_deletes_jobs_in_any_state_but_complete(
    qless: Any, queue: Any, hr: Client
) -> None:
    job = await running(queue, "runs")
    await got((await running(queue, "done")).complete())
    await got((await running(queue, "fails")).fail("kind", "why"))
    await got(queue.put(1, id="waits"))

    cancelled = await got(qless.cancel("runs", "done", "fails", "waits", "unknown"))

    assert cancelled == ["runs", "fails", "waits"]
    assert await got(job.heartbeat()) is False
    assert await got(qless.get("runs")) is None
    done = await got(qless.jobs["done"])
    assert (done.state, await got(done.cancel())) == ("complete", False)
    assert hr.audit().balanced


@proves("QL-02")
async def test_unfail_puts_the_oldest_of_a_group_into_a_queue(
    qless: Any, queue: Any, clock: Clock, hr: Client
) -> None:
    for name in "cab":
        await got((await running(queue, name)).fail("kind", "why"))
        clock.tick(1)

    assert await got(qless.unfail("other", "kind", 2)) == 2
    assert [job.id for job in await got(qless.queues["other"].pop(5))] == ["c", "a"]
    assert await got(qless.unfail("testing", "kind")) == 1
    assert (await got(queue.pop())).id == "b"
    assert await got(qless.unfail("testing", "kind")) == 0
    assert (await got(queue.stats()))["failed"] == 0
    assert hr.audit().balanced


@proves("QL-03", "QD-15")
async def test_a_lost_lock_costs_a_retry_and_without_one_left_the_job_is_failed(
    qless: Any, queue: Any, clock: Clock
) -> None:
    await got(queue.put(1, id="j", retries=1))
    assert (await got(queue.pop())).remaining == 1
    clock.tick(60)
    assert (await got(queue.pop())).remaining == 0
    clock.tick(60)
    assert await got(queue.pop()) is None
    assert (await got(qless.jobs["j"])).state == "failed"

    await got(queue.put(1, id="j"))
    renewed = await got(qless.jobs["j"])
    assert (renewed.retries, renewed.remaining) == (1, 1)
    await got(queue.put(1, id="default"))
    assert (await got(qless.jobs["default"])).retries == 5


@proves("QL-04")
async def test_retry_gives_the_job_back_and_says_how_many_retries_are_left(
    qless: Any, queue: Any, clock: Clock
) -> None:
    job = await running(queue, retries=2)
    assert await got(job.retry()) == 1
    assert await got(job.retry()) is False

    job = await got(queue.pop())
    assert await got(job.retry(5)) == 0
    assert await got(queue.pop()) is None
    clock.tick(5)

    await got(queue.pop())
    assert await got(qless.retry("j", "testing", "w1", 0, "flaky", "again and again")) == -1
    assert (await got(qless.jobs["j"])).failure["type"] == "flaky"


@proves("QL-04")
async def test_retry_is_for_the_holder_and_for_its_own_queue(
    qless: Any, other: Any, queue: Any, hr: Client
) -> None:
    job = await running(queue, retries=None)
    before = dump(hr)

    assert await got(qless.retry("j", "elsewhere", "w1")) is False
    assert await got(qless.retry("j", "testing", "w2")) is False
    assert await got(other.retry("j", "testing", "w1")) is False
    assert dump(hr) == before
    assert await got(job.retry()) is None


@proves("QL-04")
async def test_without_a_group_the_failure_is_called_by_its_queue(qless: Any, queue: Any) -> None:
    job = await running(queue, retries=0)

    assert await got(job.retry()) == -1
    assert await got(qless.failed()) == {"failed-retries-testing": 1}


@proves("QL-11")
async def test_a_job_that_depends_on_others_waits_for_the_last_of_them(
    qless: Any, queue: Any
) -> None:
    for name in "ab":
        await got(queue.put(1, id=name))
    await got(queue.put(1, id="j", depends=["a", "b", "unknown"]))

    job = await got(qless.jobs["j"])
    assert (job.state, sorted(job.dependencies)) == ("depends", ["a", "b"])
    assert (await got(qless.jobs["a"])).dependents == ["j"]
    assert await got(queue.jobs("depends")) == ["j"]

    for expected in ("depends", "waiting"):
        await got((await got(queue.pop())).complete())
        assert (await got(qless.jobs["j"])).state == expected


@proves("QL-11")
async def test_dependencies_are_added_and_removed(qless: Any, queue: Any, hr: Client) -> None:
    for name in ("a", "b", "j"):
        await got(queue.put(1, id=name))
    job = await got(qless.jobs["j"])

    assert await got(job.depend("a", "b")) == "depends"
    assert await got(qless.depends("j", "off", "a")) == "depends"
    assert await got(job.undepend(all=True)) == "waiting"
    assert await got(qless.depends("j", "on", "a")) == "depends"
    assert await got(qless.depends("unknown", "on", "a")) is False

    before = dump(hr)
    with pytest.raises(HasDependents):
        await got(qless.cancel("a"))
    for command in (("j", "maybe", "a"), ("j", "off")):
        with pytest.raises(InvalidArgument):
            await got(qless.depends(*command))
    assert dump(hr) == before
    assert sorted(await got(qless.cancel("a", "j"))) == ["a", "j"]


@proves("QL-13")
async def test_tracked_jobs_are_listed_and_told_of(qless: Any, queue: Any, hr: Client) -> None:
    for name in "ab":
        await got(queue.put(1, id=name))
    job = await got(qless.jobs["a"])
    assert await got(job.track()) is True
    assert await got(qless.track("b")) is True
    assert await got(qless.track("unknown")) is False

    with hr.tracking.listen(wait=5) as heard:
        await got(qless.cancel("b"))
        assert (event := next(heard)).kind == "cancelled"
        assert event.job_id == "b"

    found = await got(qless.jobs.tracked())
    assert ([each.id for each in found["jobs"]], found["expired"]) == (["a"], ["b"])
    assert found["jobs"][0].tracked
    await got(job.untrack())
    await got(qless.untrack("b"))
    assert await got(qless.jobs.tracked()) == {"jobs": [], "expired": []}


@proves("QL-14")
async def test_who_holds_a_job_hears_that_it_was_taken(qless: Any, queue: Any, other: Any) -> None:
    watch = await got(qless.client.watch("w1"))
    try:
        job = await running(queue)
        assert job.taken is None
        await got(other.cancel("j"))
        await asyncio.to_thread(until, lambda: bool(job.taken), "the holder hears of it")
        assert job.taken == "cancelled"
    finally:
        await got(watch.close())


@proves("QL-15")
async def test_tags_are_given_and_taken_and_jobs_are_found_by_them(
    qless: Any, queue: Any, clock: Clock
) -> None:
    for name in "ab":
        await got(queue.put(1, id=name, tags=["x"]))
        clock.tick(1)
    job = await got(qless.jobs["a"])

    assert await got(job.tag("y", "x")) == ["x", "y"]
    assert await got(qless.tag("b", "y")) == ["x", "y"]
    assert await got(qless.jobs.tagged("y")) == {"total": 2, "jobs": ["a", "b"]}
    assert await got(qless.jobs.tagged("y", 1, 1)) == {"total": 2, "jobs": ["b"]}
    assert sorted(await got(qless.tags())) == ["x", "y"]

    assert await got(job.untag("x", "z")) == ["y"]
    assert await got(qless.untag("b", "y")) == ["x"]
    assert await got(qless.tags()) == []
    assert await got(qless.tag("unknown", "x")) is False


@proves("QL-22")
async def test_timeout_takes_a_lock_away_and_the_job_waits_at_the_front(
    qless: Any, queue: Any
) -> None:
    job = await running(queue, "j")
    second = await running(queue, "k")
    await got(queue.put(1, id="next"))

    assert await got(qless.timeout("j", "next", "unknown")) == ["j"]
    assert await got(second.timeout()) is True
    assert await got(second.timeout()) is False

    assert await got(job.complete()) is False
    again = await got(queue.pop(3))
    assert [(each.id, each.remaining) for each in again] == [("j", 5), ("k", 5), ("next", 5)]


@proves("QL-23")
async def test_requeue_is_for_jobs_that_exist_and_get_reads_many(qless: Any, queue: Any) -> None:
    for name in "ab":
        await got(queue.put(name, 3, ["t"], id=name))

    assert await got(qless.requeue("other", "a", 5)) == "a"
    assert await got((await got(qless.jobs["b"])).move("other")) == "b"
    assert await got(qless.requeue("other", "unknown")) is False

    found = await got(qless.jobs.get("b", "unknown", "a"))
    assert [(job.id, job.queue, job.state) for job in found] == [
        ("b", "other", "waiting"),
        ("a", "other", "scheduled"),
    ]
    assert (found[0].data, found[0].priority, found[0].tags) == ("b", 3, ["t"])


@proves("QL-24")
async def test_a_job_has_a_log_and_a_bounded_history(qless: Any, queue: Any, clock: Clock) -> None:
    await got(qless.set_config("max-job-history", 3))
    job = await running(queue)
    assert await got(job.log("half way")) is True
    assert (await got(qless.jobs["j"])).log_lines == [(NOW, "half way")]

    for number in range(5):
        clock.tick(1)
        await got(queue.put(number, id="j"))
    assert await got(job.log("too late")) is False

    stages = (await got(qless.jobs["j"])).history
    assert [stage[1] - NOW for stage in stages] == [0, 3, 4, 5]


@proves("Q-28")
async def test_the_priority_of_a_job_is_changed_while_it_lives(qless: Any, queue: Any) -> None:
    for name in "abc":
        await got(queue.put(1, id=name))

    assert await got(qless.priority("c", -1)) == -1
    assert await got((await got(qless.jobs["a"])).prioritise(1)) == 1
    assert await got(qless.priority("unknown", 1)) is False
    with pytest.raises(InvalidArgument):
        await got(qless.priority("a", "high"))

    assert [job.id for job in await got(queue.pop(3))] == ["c", "b", "a"]
