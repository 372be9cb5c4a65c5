"""The job and the queue."""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import Any

from headrace import Client
from headrace.testing import START, Clock
from tests.proof import proves
from tests.support.clients import got

NOW = START.timestamp()
FIELDS = ["id", "priority", "data", "tags", "worker", "expires", "state", "queue", "history"]


@proves("Q-01")
async def test_of_many_who_pop_at_once_each_job_goes_to_one(opening: Any) -> None:
    queues = [opening(f"w{number}").queues["testing"] for number in range(4)]
    for number in range(10):
        await got(queues[0].put(number))

    async def popped(queue: Any) -> list[Any]:
        found = await got(await asyncio.to_thread(queue.pop, 4))
        return [job.data for job in found]

    found = await asyncio.gather(*map(popped, queues))

    assert sorted(chain.from_iterable(found)) == list(range(10))


@proves("Q-70")
async def test_a_job_has_the_fields_of_the_document(qless: Any, queue: Any) -> None:
    await got(queue.put({"hello": "how are you"}, tags=["testing", "experimental"], id="j"))
    job = await got(queue.pop())

    assert list(job.structure()) == FIELDS
    assert job.structure() == await got(qless.get("j"))
    assert all(hasattr(job, name) for name in FIELDS)
    assert repr(job).endswith("Job 'j' of 'testing', running>")


@proves("Q-71", "QD-06")
async def test_a_job_is_in_one_of_the_states(qless: Any, queue: Any) -> None:
    seen = []
    asked: dict[str, Any] = {"a": {}, "b": {"delay": 9}, "c": {"depends": ["a"]}}
    for name, options in asked.items():
        await got(queue.put(1, id=name, **options))
        seen.append((await got(qless.jobs[name])).state)
    job = await got(queue.pop())
    seen.append(job.state)
    await got(job.complete())
    seen.append((await got(qless.jobs["a"])).state)
    await got(qless.fail("b", "kind", "why", NOW))
    seen.append((await got(qless.jobs["b"])).state)

    assert seen == ["waiting", "scheduled", "depends", "running", "complete", "failed"]


@proves("Q-72")
async def test_the_history_lists_all_stages_and_no_attempt_overwrites_another(
    qless: Any, other: Any, clock: Clock
) -> None:
    await got(qless.queues["test1"].put(1, id="j"))
    clock.tick(10)
    await got(qless.queues["test1"].pop())
    clock.tick(60)
    job = await got(other.queues["test1"].pop())
    clock.tick(5)
    await got(job.complete("test2"))

    assert (await got(qless.jobs["j"])).history == [
        ["test1", NOW, NOW + 10, None, "w1"],
        ["test1", NOW, NOW + 70, NOW + 75, "w2"],
        ["test2", NOW + 75, None, None, None],
    ]


@proves("Q-86", "QL-17")
async def test_the_length_of_a_queue_is_what_waits_is_scheduled_depends_or_runs(
    queue: Any, qless: Any, hr: Client
) -> None:
    asked: dict[str, Any] = {"a": {}, "b": {}, "c": {"delay": 9}, "d": {"depends": ["b"]}}
    for name, options in asked.items():
        await got(queue.put(1, id=name, **options))
    await got(queue.pop())
    await got(queue.put(1, id="e"))
    await got(qless.fail("e", "kind", "why", NOW))

    assert await got(queue.length()) == 4
    counts = await got(queue.counts())
    assert counts == {
        "name": "testing",
        "waiting": 1,
        "running": 1,
        "stalled": 0,
        "scheduled": 1,
        "depends": 1,
        "recurring": 0,
        "paused": False,
    }
    assert await got(qless.queues.counts()) == [counts]
    assert hr.audit().balanced
