"""Job: who gets a job says by its id what became of it."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, HeadraceError
from headrace.client.talk import Talk
from headrace.dialects.thoonk import (
    NO_RESULT,
    Empty,
    JobDoesNotExist,
    JobNotPending,
    Thoonk,
    jobs,
)
from headrace.testing import Clock
from tests.colours import got
from tests.dialects.thoonk.steps import begun, changes, keys, tried
from tests.dump import dump
from tests.engine.hearing import until_listened_to
from tests.proof import proves


async def steps_of(thoonk: Any, *items: Any) -> tuple[Any, list[str]]:
    """A feed of jobs, and the ids of those in it."""
    steps = await got(thoonk.job("steps"))
    return steps, [await got(steps.put(item)) for item in items]


@proves("T-40")
async def test_a_put_is_that_of_a_queue(thoonk: Any) -> None:
    steps, put = await steps_of(thoonk, "same", "same")

    put.append(await got(steps.publish("other")))

    assert len(set(put)) == 3
    assert [(await got(steps.get(1))).id for _ in put] == put


@proves("T-41", "TD-15", "T-58")
async def test_a_get_makes_a_job_running_and_notes_when(
    thoonk: Any, hr: Client, clock: Clock
) -> None:
    steps, [job_id, waiting] = await steps_of(thoonk, "item", "next")
    clock.tick(0.007)

    got_id, item, cancelled = await got(steps.get(1))

    assert (got_id, item, cancelled) == (job_id, "item", 0)
    assert await got(steps.get_claimed()) == {job_id: clock.now}
    assert await got(steps.get_running()) == [job_id]
    assert hr.queue("steps").counts().waiting == 1
    assert await got(steps.get_ids()) == [waiting, job_id]


@proves("T-41", "T-42")
@pytest.mark.parametrize("span", [(), (0,), (20,)])
async def test_a_get_waits_for_a_job(thoonk: Any, hr: Client, span: tuple[int, ...]) -> None:
    steps, _ = await steps_of(thoonk)
    getting = begun(steps.get, *span)
    await asyncio.to_thread(until_listened_to, hr, "queue:steps")

    job_id = await got(steps.put("item"))

    assert await asyncio.wait_for(getting, 20) == (job_id, "item", 0)


@proves("T-42")
async def test_a_get_in_vain_changes_nothing(thoonk: Any, hr: Client) -> None:
    steps, _ = await steps_of(thoonk, "held")
    await got(steps.get(1))
    before = dump(hr)

    await tried(Empty, steps.get, 0.01)

    assert dump(hr) == before


@proves("T-43", "T-55")
async def test_the_item_stays_until_the_job_is_finished(thoonk: Any) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))
    assert await got(steps.get_item(job_id)) == "item"
    await got(steps.cancel(job_id))
    assert await got(steps.get_item(job_id)) == "item"
    await got(steps.get(1))
    await got(steps.stall(job_id))
    assert await got(steps.get_item(job_id)) == "item"
    await got(steps.retry(job_id))
    await got(steps.get(1))

    await got(steps.finish(job_id))

    assert await got(steps.get_item(job_id)) is None


@proves("T-44", "T-54", "TD-05")
async def test_a_finished_job_leaves_nothing(thoonk: Any, hr: Client) -> None:
    steps, _ = await steps_of(thoonk)
    empty = keys(hr)
    job_id = await got(steps.put("x" * 5000))
    await got(steps.get(1))
    await got(steps.cancel(job_id))
    await got(steps.get(1))

    await got(steps.finish(job_id))

    assert keys(hr) == empty | {"books:steps"}
    assert await got(steps.get_ids()) == await got(steps.get_running()) == []
    await tried(JobDoesNotExist, steps.get_failure_count, job_id)
    assert hr.audit().balanced


@proves("T-45", "T-47", "TD-13")
@pytest.mark.parametrize(("item", "result"), [("item", "result"), ("a\0b", "c\0d"), ("", "\0")])
async def test_a_result_comes_with_the_item(thoonk: Any, item: str, result: str) -> None:
    steps, [job_id] = await steps_of(thoonk, item)
    await got(steps.get(1))

    await got(steps.finish(job_id, result))

    assert await got(steps.get_result(job_id, 1)) == (item, result)


@proves("T-46")
@pytest.mark.parametrize("result", [None, "", [], 0, False])
async def test_an_empty_result_is_a_result(thoonk: Any, result: Any) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))

    await got(steps.finish(job_id, result))

    assert await got(steps.get_result(job_id, 1)) == ("item", result)


@proves("T-46")
@pytest.mark.parametrize("given", [(), (NO_RESULT,)])
async def test_a_job_finished_without_a_result_has_none(thoonk: Any, given: Any) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))

    await got(steps.finish(job_id, *given))

    await tried(Empty, steps.get_result, job_id, 0.01)


@proves("T-47", "T-48")
@pytest.mark.parametrize("span", [(), (0,), (20,)])
async def test_a_result_may_be_waited_for_before_the_job_is_finished(
    thoonk: Any, hr: Client, span: tuple[int, ...]
) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    asking = begun(steps.get_result, job_id, *span)
    await asyncio.to_thread(until_listened_to, hr, "ended:")

    elsewhere = Thoonk(hr).job("steps")
    elsewhere.get(1)
    elsewhere.finish(job_id, "result")

    assert await asyncio.wait_for(asking, 20) == ("item", "result")


@proves("T-48")
async def test_a_result_is_taken_by_one(thoonk: Any, hr: Client) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))
    await got(steps.finish(job_id, "result"))

    elsewhere = Thoonk(hr).job("steps")
    assert elsewhere.get_result(job_id, 1) == ("item", "result")

    await tried(Empty, steps.get_result, job_id, 0.01)
    assert not {key for key in keys(hr) if job_id in key}


@proves("T-47")
async def test_a_result_that_does_not_come_in_time_changes_nothing(thoonk: Any, hr: Client) -> None:
    steps, [job_id, stalled] = await steps_of(thoonk, "item", "stalled")
    await got(steps.get(1))
    await got(steps.get(1))
    await got(steps.stall(stalled))
    before = dump(hr)

    for one in (job_id, stalled, "bogus"):
        assert "no result" in await tried(Empty, steps.get_result, one, 0.01)

    assert dump(hr) == before


@proves("TD-14")
async def test_a_result_nobody_asks_for_goes_after_a_day(
    thoonk: Any, hr: Client, clock: Clock
) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))
    await got(steps.finish(job_id, "result"))
    assert {key for key in keys(hr) if job_id in key}

    clock.tick(timedelta(days=1, seconds=1))
    hr.sweep()

    assert not {key for key in keys(hr) if job_id in key}
    await tried(Empty, steps.get_result, job_id, 0.01)


REFUSED = {
    "finish": (JobDoesNotExist, ("waiting", "stalled", "finished", "bogus")),
    "cancel": (JobNotPending, ("waiting", "stalled", "finished", "bogus")),
    "stall": (JobDoesNotExist, ("waiting", "stalled", "finished", "bogus")),
    "retry": (JobDoesNotExist, ("waiting", "running", "finished", "bogus")),
}


@proves("T-49", "T-51", "T-55", "T-56", "TD-04", "TD-06", "TD-07")
@pytest.mark.parametrize("verb", REFUSED)
async def test_what_does_not_fit_the_state_is_refused_and_changes_nothing(
    thoonk: Any, hr: Client, verb: str
) -> None:
    steps, [running, stalled, finished, waiting] = await steps_of(thoonk, *"rsfw")
    for _ in range(3):
        await got(steps.get(1))
    await got(steps.stall(stalled))
    await got(steps.finish(finished, "result"))
    ids = {"running": running, "stalled": stalled, "finished": finished, "waiting": waiting}
    before = dump(hr)

    error, states = REFUSED[verb]
    for state in states:
        said = await tried(error, getattr(steps, verb), ids.get(state, "bogus"))
        assert "nothing was changed" in said

    assert dump(hr) == before
    assert await got(steps.get(1)) == (waiting, "w", 0)


@proves("TD-06", "TD-07")
async def test_a_job_without_an_item_is_never_handed_out(thoonk: Any) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await tried(JobDoesNotExist, steps.finish, job_id)
    await tried(JobDoesNotExist, steps.retry, "bogus")

    assert await got(steps.get(1)) == (job_id, "item", 0)
    await tried(Empty, steps.get, 0.01)


@proves("T-50")
async def test_a_cancelled_job_goes_to_the_back_and_is_counted(thoonk: Any) -> None:
    steps, [first, second] = await steps_of(thoonk, "A", "B")
    await got(steps.get(1))

    await got(steps.cancel(first))

    assert [await got(steps.get(1)) for _ in range(2)] == [(second, "B", 0), (first, "A", 1)]


@proves("T-52")
async def test_anybody_may_say_what_becomes_of_a_job(thoonk: Any, hr: Client) -> None:
    steps, put = await steps_of(thoonk, "cancel", "stall", "finish")
    for _ in put:
        await got(steps.get(1))

    publisher = Thoonk(hr).job("steps")
    publisher.cancel(put[0])
    publisher.stall(put[1])
    publisher.retry(put[1])
    publisher.finish(put[2])

    assert await got(steps.get_ids()) == [put[1], put[0]]


@proves("T-53", "TD-03")
async def test_cancels_are_counted_for_each_job_alone(thoonk: Any) -> None:
    steps, [often, never] = await steps_of(thoonk, "often", "never")
    seen = []
    for _ in range(3):
        claimed = [await got(steps.get(1)) for _ in range(2)]
        seen.append({one.id: one.cancelled for one in claimed}[often])
        await got(steps.cancel(often))
        await got(steps.stall(never))
        await got(steps.retry(never))

    assert seen == [0, 1, 2]
    assert await got(steps.get_failure_count(often)) == 3
    assert await got(steps.get_failure_count(never)) == 0


@proves("T-54", "TD-17", "T-56", "TD-16")
async def test_a_retried_job_goes_to_the_back_and_was_never_cancelled(thoonk: Any) -> None:
    steps, [job_id, other] = await steps_of(thoonk, "A", "B")
    await got(steps.get(1))
    await got(steps.cancel(job_id))
    await got(steps.get(1))
    await got(steps.get(1))
    await got(steps.stall(job_id))
    assert await got(steps.get_failure_count(job_id)) == 1
    await got(steps.cancel(other))

    await got(steps.retry(job_id))

    assert [await got(steps.get(1)) for _ in range(2)] == [(other, "B", 1), (job_id, "A", 0)]


@proves("T-55", "TD-05")
async def test_a_stalled_job_is_set_aside(thoonk: Any) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))

    await got(steps.stall(job_id))

    assert await got(steps.get_stalled()) == [job_id]
    assert await got(steps.get_claimed()) == {}
    await tried(Empty, steps.get, 0.01)


@proves("T-55", "TD-10")
def test_a_job_that_was_cancelled_meanwhile_is_not_stalled(hr: Client, plain: Thoonk) -> None:
    steps = plain.job("steps")
    job_id = steps.put("item")
    steps.get(1)
    stalling = jobs.stall(steps, job_id)
    wish = next(stalling)
    answer = hr.core.wire.send(wish.commands)
    steps.cancel(job_id)
    before = dump(hr)

    wish = stalling.send(answer)
    answer = hr.core.wire.send(wish.commands)
    with pytest.raises(JobDoesNotExist, match="is waiting"):
        stalling.send(answer)

    assert dump(hr) == before


@proves("TD-05")
async def test_a_cancelled_job_is_no_longer_claimed(thoonk: Any, hr: Client) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))

    await got(steps.cancel(job_id))

    assert await got(steps.get_claimed()) == {}
    job = hr.job(job_id)
    assert job is not None
    assert (job.state, job.worker, job.expires) == ("waiting", "", None)


@proves("TD-02")
async def test_of_jobs_with_the_same_item_one_is_meant(thoonk: Any) -> None:
    steps, [first, second, third] = await steps_of(thoonk, "same", "same", "same")
    for _ in range(3):
        await got(steps.get(1))

    await got(steps.cancel(third))
    await got(steps.stall(second))
    await got(steps.finish(first))

    assert await got(steps.get_ids()) == [third, second]


@proves("T-57")
@pytest.mark.parametrize("seed", range(3))
def test_a_job_is_in_one_state_and_has_an_item_as_long_as_it_is(
    hr: Client, plain: Thoonk, seed: int
) -> None:
    chance = random.Random(seed)
    steps = plain.job("steps")
    known = [steps.put("item") for _ in range(4)]
    verbs = (steps.finish, steps.cancel, steps.stall, steps.retry, steps.retract)
    for _ in range(40):
        try:
            if chance.random() < 0.4:
                steps.get(0.001)
            else:
                chance.choice(verbs)(chance.choice(known))
        except HeadraceError:
            known.append(steps.put("item"))

    counts = hr.queue("steps").counts()
    listed = [*steps.get_ids()]
    assert len(listed) == len(set(listed)) == counts.waiting + counts.running + counts.failed
    assert [one for one in known if steps.has_id(one)] == [one for one in known if one in listed]
    assert set(steps.get_all().values()) == {"item"}
    assert hr.audit().balanced


@proves("T-58")
async def test_nothing_is_taken_back_by_itself(thoonk: Any, hr: Client, clock: Clock) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))
    since = clock.now

    clock.tick(timedelta(days=40))
    hr.sweep()

    await tried(Empty, steps.get, 0.01)
    assert await got(steps.get_claimed()) == {job_id: since}


@proves("T-59", "T-74")
async def test_ids_in_every_state_are_listed_those_that_wait_back_to_front(thoonk: Any) -> None:
    steps, put = await steps_of(thoonk, *"abcd")
    await got(steps.get(1))
    await got(steps.get(1))
    await got(steps.stall(put[0]))

    assert await got(steps.get_ids()) == [put[3], put[2], put[1], put[0]]
    assert await got(steps.get_all()) == dict(zip(reversed(put), "dcba", strict=True))
    assert await got(steps.length()) == 4


@proves("T-60")
async def test_a_job_is_retracted_in_any_state(thoonk: Any, hr: Client) -> None:
    steps, [stalled, running, waiting] = await steps_of(thoonk, *"srw")
    await got(steps.get(1))
    await got(steps.get(1))
    await got(steps.stall(stalled))

    for one in (stalled, running, waiting):
        await got(steps.retract(one))

    assert await got(steps.get_ids()) == []
    assert keys(hr) <= {"feeds", "feed:steps", "queues", "settings:steps", "books:steps"}
    before = dump(hr)
    await got(steps.retract("bogus"))
    assert dump(hr) == before


async def test_the_jobs_of_another_feed_are_left_alone(thoonk: Any, hr: Client) -> None:
    steps, [job_id] = await steps_of(thoonk, "item")
    await got(steps.get(1))
    other = await got(thoonk.job("other"))
    before = dump(hr)

    await tried(JobDoesNotExist, other.finish, job_id)
    await tried(JobDoesNotExist, other.stall, job_id)
    await tried(JobNotPending, other.cancel, job_id)
    await got(other.retract(job_id))
    assert await got(other.get_item(job_id)) is None

    assert dump(hr) == before


def _talks(steps: Any, job_id: str) -> dict[str, Talk[Any]]:
    return {
        "put": jobs.put(steps, "item"),
        "get": jobs.claim(steps, 1),
        "finish": jobs.finish(steps, job_id),
        "finish with a result": jobs.finish(steps, job_id, "result"),
        "cancel": jobs.cancel(steps, job_id),
        "stall": jobs.stall(steps, job_id),
    }


@proves("TD-10", "T-45")
@pytest.mark.parametrize(
    "verb", ["put", "get", "finish", "finish with a result", "cancel", "stall"]
)
def test_every_transition_is_one_step(hr: Client, plain: Thoonk, verb: str) -> None:
    steps = plain.job("steps")
    job_id = steps.put("item")
    steps.get(1)
    steps.put("next")

    assert changes(hr, _talks(steps, job_id)[verb]) == 1
    assert hr.audit().balanced


@proves("TD-10")
def test_a_retry_is_one_step(hr: Client, plain: Thoonk) -> None:
    steps = plain.job("steps")
    job_id = steps.put("item")
    steps.get(1)
    steps.stall(job_id)

    assert changes(hr, jobs.retry(steps, job_id)) == 1


@proves("TD-16")
def test_a_cancelled_job_goes_to_the_back_whatever_the_queue_says(
    hr: Client, plain: Thoonk
) -> None:
    steps = plain.job("steps")
    hr.queue("steps").configure(returns="front")
    first, second = steps.put("A"), steps.put("B")
    steps.get(1)

    steps.cancel(first)

    assert [steps.get(1).id, steps.get(1).id] == [second, first]
