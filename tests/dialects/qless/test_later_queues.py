"""What later versions of qless added to the document, for queues and workers."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.clients import got

NOW = START.timestamp()


@proves("QL-12")
async def test_a_recurring_job_is_put_every_interval_from_its_offset_on(
    queue: Any, clock: Clock
) -> None:
    recurring = queue.recur({"a": 1}, 60, 10, -2, ["t"], 3, id="r")
    assert await got(recurring) == "r"
    assert await got(queue.pop()) is None

    clock.tick(10)
    first = await got(queue.pop())
    await got(first.complete())
    clock.tick(60)
    second = await got(queue.pop())

    assert (first.id, second.id) == ("r-1", "r-2")
    assert (second.data, second.priority, second.tags) == ({"a": 1}, -2, ["t"])
    assert (second.retries, second.spawned_from) == (3, "r")
    assert second.history[0][1] == NOW + 70


@proves("QL-12")
@pytest.mark.parametrize(("backlog", "made"), [(0, 11), (3, 4)])
async def test_missed_intervals_are_made_up_for_as_far_as_the_backlog_says(
    queue: Any, clock: Clock, backlog: int, made: int
) -> None:
    await got(queue.recur(1, 60, backlog=backlog))
    clock.tick(600)

    popped = await got(queue.pop(50))

    assert len(popped) == made
    assert popped[-1].history[0][1] == NOW + 600


@proves("QL-12")
async def test_a_recurring_job_is_read_changed_and_ended(
    qless: Any, queue: Any, clock: Clock
) -> None:
    await got(queue.recur(1, 60, 5, tags=["t"], id="r", backlog=2))

    job = await got(qless.jobs.recurring("r"))
    assert (job.id, job.queue, job.data, job.interval) == ("r", "testing", 1, 60)
    assert (job.priority, job.tags, job.backlog, job.count) == (0, ["t"], 2, 0)
    assert job.next == NOW + 5
    assert repr(job).endswith("RecurringJob 'r' of 'testing', every 60.0 s>")
    assert await got(queue.jobs("recurring")) == ["r"]
    assert (await got(queue.counts()))["recurring"] == 1

    assert await got(job.update(data=2, interval=30, priority=-1, retries=0, backlog=0)) is True
    assert await got(job.tag("u")) is True
    assert await got(job.tag("v")) is True
    assert await got(job.untag("t")) is True
    changed = await got(qless.jobs.recurring("r"))
    assert (changed.data, changed.interval, changed.priority) == (2, 30, -1)
    assert (changed.tags, changed.retries, changed.backlog) == (["u", "v"], 0, 0)

    clock.tick(60)
    assert (await got(queue.pop())).id == "r-1"
    assert await got(job.cancel()) is True
    assert await got(job.cancel()) is False
    assert await got(job.update(data=3)) is False
    assert await got(qless.jobs.recurring("r")) is None
    await got(queue.recur(1, 60, id="r"))
    clock.tick(60)
    assert await got(qless.unrecur("r", "unknown")) == ["r"]


@proves("QL-12", "Q-28")
async def test_the_switch_turns_the_priorities_of_recurring_jobs_too(
    opening: Any,
) -> None:
    later = opening("w1", higher_first=True)
    await got(later.queues["testing"].recur(1, 60, 0, 5, id="r"))
    job = await got(later.jobs.recurring("r"))
    assert job.priority == 5

    await got(job.update(priority=7))

    assert (await got(later.queues["testing"].pop())).priority == 7


@proves("QL-16")
async def test_the_jobs_of_a_queue_are_listed_by_state(
    qless: Any, queue: Any, clock: Clock
) -> None:
    for name in ("late", "runs", "done", "fails"):
        await got(queue.put(1, id=name))
    await got(queue.pop(2))
    await got((await got(queue.pop())).complete())
    await got((await got(queue.pop())).fail("kind", "why"))
    clock.tick(30)
    await got(qless.heartbeat("runs", "w1", 4e9))
    clock.tick(30)
    await got(queue.put(1, id="waits"))
    await got(queue.put(1, id="later", delay=9))

    listed = {
        state: await got(queue.jobs(state))
        for state in ("waiting", "scheduled", "running", "stalled", "failed", "complete")
    }

    assert listed == {
        "waiting": ["waits"],
        "scheduled": ["later"],
        "running": ["runs"],
        "stalled": ["late"],
        "failed": ["fails"],
        "complete": ["done"],
    }
    counts = await got(queue.counts())
    assert (counts["running"], counts["stalled"]) == (1, 1)
    assert await got(queue.jobs("stalled", 1)) == []
    with pytest.raises(InvalidArgument):
        await got(queue.jobs("pending"))


@proves("QL-17")
async def test_queues_are_listed_in_the_order_of_their_first_use(qless: Any, hr: Client) -> None:
    assert await got(qless.queues.counts()) == []
    for name in ("b", "a"):
        await got(qless.queues[name].put(1))
    await got(qless.queues["b"].pop())

    found = await got(qless.queues.counts())

    assert [(one["name"], one["waiting"], one["running"]) for one in found] == [
        ("b", 0, 1),
        ("a", 1, 0),
    ]
    await got(qless.queues["b"].delete())
    assert list(hr.queues()) == ["a"]


@proves("QL-18")
async def test_workers_are_listed_with_what_they_hold_and_what_of_it_is_stalled(
    qless: Any, other: Any, clock: Clock, hr: Client
) -> None:
    for name in "abc":
        await got(qless.queues["testing"].put(1, id=name))
    await got(qless.queues["testing"].pop())
    clock.tick(30)
    await got(qless.queues["testing"].pop())
    await got(other.queues["testing"].pop())
    clock.tick(30)
    hr.session("idle")

    assert await got(qless.workers.counts()) == [
        {"name": "idle", "jobs": 0, "stalled": 0},
        {"name": "w1", "jobs": 1, "stalled": 1},
        {"name": "w2", "jobs": 1, "stalled": 0},
    ]
    assert await got(qless.workers["w1"]) == {"jobs": ["b"], "stalled": ["a"]}
    assert await got(qless.workers["nobody"]) == {"jobs": [], "stalled": []}


@proves("QL-19")
async def test_a_paused_queue_gives_out_nothing_and_all_else_goes_on(
    qless: Any, queue: Any
) -> None:
    await got(queue.put(1, id="j"))
    await got(queue.pause())

    assert await got(queue.pop()) is None
    assert (await got(queue.peek())).id == "j"
    assert (await got(queue.counts()))["paused"] is True
    await got(queue.unpause())
    assert (await got(queue.pop())).id == "j"

    await got(qless.pause("testing", "other"))
    await got(queue.put(1, id="k"))
    assert await got(queue.pop()) is None
    await got(qless.unpause("testing", "other"))
    assert (await got(queue.pop())).id == "k"


@proves("QL-20")
async def test_at_most_so_many_jobs_of_a_queue_run_at_once(
    qless: Any, queue: Any, clock: Clock
) -> None:
    await got(qless.set_config("testing-max-concurrency", 2))
    for name in "abc":
        await got(queue.put(1, id=name))

    assert len(await got(queue.pop(3))) == 2
    clock.tick(60)
    assert len(await got(queue.pop(3))) == 2
    assert await got(qless.get_config("testing-max-concurrency")) == 2
    await got(qless.set_config("testing-max-concurrency"))
    assert await got(qless.get_config("testing-max-concurrency")) is None
    assert len(await got(queue.pop(3))) == 1


@proves("QL-21")
async def test_jobs_of_several_queues_share_a_throttle(qless: Any) -> None:
    await got(qless.throttles.set("api", 1, 100))
    for name in "ab":
        await got(qless.queues[name].put(1, id=name, throttles=["api"]))

    job = await got(qless.queues["a"].pop())
    assert job.throttles == ["api"]
    assert await got(qless.queues["b"].pop()) is None
    assert await got(qless.throttles.get("api")) == {
        "id": "api",
        "maximum": 1,
        "ttl": 100,
        "locks": ["a"],
        "pending": ["b"],
    }
    await got(job.complete())
    assert (await got(qless.queues["b"].pop())).id == "b"

    await got(qless.throttles.set("api", 0))
    for name in "ab":
        await got(qless.queues[name].put(1, id=name, throttles=["api"]))
        assert (await got(qless.queues[name].pop())).id == name
    assert await got(qless.throttles.delete("api")) is True
    assert await got(qless.throttles.delete("api")) is False
    assert (await got(qless.throttles.get("api")))["maximum"] == 0


@proves("QL-25")
async def test_statistics_count_what_is_failed_and_what_failed_and_was_retried(
    queue: Any, clock: Clock
) -> None:
    for name in "ab":
        await got(queue.put(1, id=name))
        await got((await got(queue.pop())).fail("kind", "why"))
    await got(queue.put(1, id="a"))
    await got(queue.pop())
    clock.tick(60)
    await got(queue.pop())

    found = await got(queue.stats())

    assert (found["failed"], found["failures"], found["retries"]) == (1, 2, 1)


async def test_workers_and_queues_are_counted_however_many_there_are(
    qless: Any, hr: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.compat.qless.talks.watching.PAGE", 2)
    names = [f"worker-{number}" for number in range(5)]
    for name in names:
        hr.session(name)
        await got(qless.queues[name].put(1))

    assert [known["name"] for known in await got(qless.workers.counts())] == names
    assert [known["name"] for known in await got(qless.queues.counts())] == names
