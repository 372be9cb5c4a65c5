"""put: a job is made, or moved."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.clients import got
from tests.support.dump import dump

NOW = START.timestamp()


@proves("Q-05", "Q-20", "Q-27")
async def test_put_makes_a_job_that_waits_in_a_queue_that_it_makes(qless: Any) -> None:
    put = qless.put("example", "deadbeef", '{"hello": 1}', NOW, -1, '["a", "b"]', 0)

    assert await got(put) == "deadbeef"

    job = await got(qless.jobs["deadbeef"])
    assert (job.data, job.priority, job.tags) == ({"hello": 1}, -1, ["a", "b"])
    assert (job.state, job.queue, job.worker, job.expires) == ("waiting", "example", "", 0)
    assert [one["name"] for one in await got(qless.queues.counts())] == ["example"]


@proves("Q-21", "Q-24", "Q-85")
@pytest.mark.parametrize("state", ["waiting", "scheduled", "running", "failed", "complete"])
async def test_a_job_that_exists_is_moved_whatever_its_state(
    qless: Any, hr: Client, state: str
) -> None:
    first, second = qless.queues["first"], qless.queues["second"]
    await got(first.put(1, id="j", delay=60 if state == "scheduled" else None))
    if state in ("running", "failed", "complete"):
        job = await got(first.pop())
        if state == "failed":
            await got(job.fail("kind", "why"))
        elif state == "complete":
            await got(job.complete())

    assert await got(second.put(2, id="j")) == "j"

    moved = await got(qless.jobs["j"])
    assert (moved.queue, moved.state, moved.data) == ("second", "waiting", 2)
    assert [stage[0] for stage in moved.history] == ["first", "second"]
    assert (await got(first.length()), await got(second.length())) == (0, 1)
    assert hr.audit().balanced


@proves("Q-21")
async def test_a_job_is_moved_also_where_the_queue_itself_would_refuse_it(
    queue: Any, qless: Any, hr: Client
) -> None:
    hr.queue("testing").configure(on_exists="reject")
    await got(queue.put(1, id="j"))

    await got(queue.put(2, id="j"))

    assert (await got(qless.jobs["j"])).data == 2


@proves("Q-22")
@pytest.mark.parametrize("whose", ["its own", "another"])
async def test_who_held_a_job_that_is_put_again_has_lost_it(
    qless: Any, other: Any, whose: str
) -> None:
    await got(qless.put("first", "j", "1", NOW))
    await got(qless.pop("first", "w1", 1, NOW, NOW + 60))

    await got((qless if whose == "its own" else other).put("second", "j", "1", NOW))

    assert await got(qless.heartbeat("j", "w1", NOW + 10**9)) is False
    assert await got(qless.complete("j")) is False
    assert (await got(qless.get("j")))["state"] == "waiting"


@proves("Q-23")
async def test_a_move_replaces_the_data_and_keeps_priority_and_tags_unless_given(
    queue: Any, qless: Any
) -> None:
    await got(queue.put("old", 7, ["a"], id="j"))

    await got(queue.put("new", id="j"))
    kept = await got(qless.jobs["j"])
    assert (kept.data, kept.priority, kept.tags) == ("new", 7, ["a"])

    await got(queue.put("new", -1, [], id="j"))
    changed = await got(qless.jobs["j"])
    assert (changed.priority, changed.tags) == (-1, [])


@proves("Q-25", "Q-83")
async def test_a_failed_job_that_is_put_leaves_its_failure_list(queue: Any, qless: Any) -> None:
    await got(queue.put(1, id="j"))
    await got((await got(queue.pop())).fail("upload error", "why"))
    assert await got(qless.failed()) == {"upload error": 1}

    await got(queue.put(1, id="j"))

    assert await got(qless.failed()) == {}
    assert (await got(qless.jobs["j"])).failure is None


@proves("Q-26")
async def test_a_complete_job_that_is_put_lives_again_and_is_not_pruned(
    queue: Any, hr: Client, clock: Clock
) -> None:
    await got(queue.put(1, id="j"))
    await got((await got(queue.pop())).complete())
    await got(queue.put(1, id="j"))

    clock.tick(8 * 86_400)
    hr.sweep()

    assert (await got(queue.pop())).id == "j"


@proves("Q-28", "Q-29")
async def test_a_lower_priority_runs_sooner_and_equal_ones_in_the_order_of_their_puts(
    queue: Any,
) -> None:
    for name, priority in [("b", 0), ("low", 10), ("a", 0), ("high", -10), ("0", None)]:
        await got(queue.put(None, priority, id=name))

    assert [job.id for job in await got(queue.pop(5))] == ["high", "b", "a", "0", "low"]


@proves("Q-28")
async def test_the_switch_turns_the_direction_of_priorities_in_this_dialect_alone(
    opening: Any, hr: Client
) -> None:
    later = opening("w1", higher_first=True)
    queue = later.queues["testing"]
    await got(queue.put(None, 1, id="low"))
    await got(queue.put(None, 5, id="high"))
    await got(queue.put(None, id="none"))
    assert await got(later.priority("low", 2)) == 2

    popped = await got(queue.pop(3))

    assert [(job.id, job.priority) for job in popped] == [("high", 5), ("low", 2), ("none", 0)]
    stored = hr.job("high")
    assert stored is not None
    assert stored.priority == -5


@proves("Q-30")
async def test_tags_are_a_list_of_texts_empty_by_default_and_without_repetitions(
    queue: Any, qless: Any
) -> None:
    await got(queue.put(1, id="none"))
    await got(qless.put("testing", "some", "1", NOW, 0, '["a", "b", "a"]'))

    assert (await got(qless.jobs["none"])).tags == []
    assert (await got(qless.get("some")))["tags"] == '["a","b"]'


@proves("Q-31", "QD-06")
async def test_a_delay_in_seconds_makes_the_job_scheduled_until_that_very_moment(
    qless: Any, queue: Any, clock: Clock
) -> None:
    await got(qless.put("testing", "j", "1", NOW, 0, "[]", 10))
    assert (await got(qless.get("j")))["state"] == "scheduled"

    clock.tick(9.999)
    assert await got(queue.pop()) is None
    clock.tick(0.001)
    assert (await got(queue.pop())).id == "j"


@proves("Q-32", "QD-10")
@pytest.mark.parametrize("blob", ["[]", "{}", '{"a":[]}', "9007199254740993", "null", '"text"'])
async def test_data_comes_back_as_it_was_put(qless: Any, blob: str) -> None:
    await got(qless.put("testing", "j", blob, NOW))
    [popped] = await got(qless.pop("testing", "w1", 1, NOW, NOW + 60))
    await got(qless.heartbeat("j", "w1", 4e9))
    await got(qless.complete("j", None, "next"))

    assert popped["data"] == blob
    assert (await got(qless.get("j")))["data"] == blob


@proves("Q-04", "Q-32")
@pytest.mark.parametrize(
    "arguments",
    [
        ("testing", "j", "{no json", NOW),
        ("testing", "j", {"a": 1}, NOW),
        ("testing", "j", "1", "soon"),
        ("testing", "j", "1", NOW, "high"),
        ("testing", "j", "1", NOW, 0, "{}"),
        ("testing", "j", "1", NOW, 0, "[1]"),
        ("testing", "j", "1", NOW, 0, "not json"),
        ("testing", "j", "1", NOW, 0, "[]", "later"),
        ("testing", "j", "1", NOW, 0, "[]", -1),
        ("testing", "", "1", NOW),
        ("testing", None, "1", NOW),
        ("", "j", "1", NOW),
    ],
)
async def test_a_put_that_is_not_as_the_document_says_changes_nothing(
    qless: Any, hr: Client, arguments: tuple[Any, ...]
) -> None:
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        await got(qless.put(*arguments))

    assert dump(hr) == before


@proves("Q-04")
async def test_a_put_without_its_arguments_is_a_mistake(qless: Any) -> None:
    with pytest.raises(TypeError):
        await got(qless.put("testing", "j", "1"))
