"""Operations on dependencies and groups take effect once, even if they are repeated."""

from __future__ import annotations

from typing import Any

from headrace import Client
from tests.support.clients import got
from tests.support.proxy import Way
from tests.support.repeats import happened, mark


async def test_a_job_is_blocked_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").put("x", id="b")
    way.lose(mark(calm, "depend"), moment)

    assert await got(hr.dependencies.add("b", on=["a"])) == "blocked"

    assert way.cuts == 1
    assert happened(calm) == ["put", "put", "blocked"]


async def test_a_job_is_unlocked_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").put("x", id="b", depends_on=["a"])
    way.lose(mark(calm, "undepend"), moment)

    assert await got(hr.dependencies.remove("b", "a")) == "waiting"

    assert way.cuts == 1
    assert happened(calm) == ["put", "put", "unlocked"]


async def test_a_job_is_blocked_in_its_next_queue_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").put("x", id="b", priority=-1)
    [lease] = await got(hr.queue("mail").pop("w"))
    way.lose(mark(calm, "complete"), moment)

    assert await got(lease.complete(next="later", depends_on=["a"])) == "blocked"

    assert way.cuts == 1
    assert happened(calm) == ["put", "put", "popped", "completed"]


async def test_a_cascade_happens_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").put("x", id="b", depends_on=["a"])
    way.lose(mark(calm, "cancel"), moment)

    assert await got(hr.cancel("a", cascade=True)) == ["a"]

    assert way.cuts == 1
    assert happened(calm) == ["put", "put", "cancelled", "cancelled"]


async def test_a_chain_is_put_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    way.lose(mark(calm, "put"), moment)

    ids = await got(hr.chain([("fetch", 1), ("parse", 2), ("store", 3)]))

    assert way.cuts == 1
    assert [job.state for job in calm.jobs(ids)] == ["waiting", "blocked", "blocked"]
    assert happened(calm) == ["put"] * 3


async def test_group_and_its_callback_are_put_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    group = hr.group("g")
    way.lose(mark(calm, "put"), moment)
    await got(group.put_many("mail", [1, 2]))
    way.lose(mark(calm, "put"), moment)
    last = await got(group.then("mail", 3))

    assert way.cuts == 2
    assert await got(group.pending()) == 2
    assert [job.state for job in calm.jobs([last])] == ["blocked"]
    assert happened(calm) == ["put"] * 3
