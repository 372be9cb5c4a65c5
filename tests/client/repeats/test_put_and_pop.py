"""A put or a pop takes effect once, even if it is repeated after a lost answer."""

from __future__ import annotations

import math
from typing import Any

import pytest

from headrace import Client, JobExists, Put
from headrace.testing import Clock
from tests.model.jobs.checks.hand_over import pop as offering
from tests.support.clients import got
from tests.support.proxy import Way
from tests.support.repeats import happened, mark

POLICIES = ("move", "replace", "reject", "duplicate")


async def test_a_put_happens_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    way.lose(mark(calm, "put"), moment)

    job_id = await got(hr.queue("mail").put("hello"))

    assert way.cuts == 1
    assert happened(calm) == ["put"]
    assert [job.id for job in calm.queue("mail").peek(9)] == [job_id]


async def test_a_plain_put_happens_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("first", id="first")
    way.lose(mark(calm, "put"), moment)

    job_id = await got(hr.queue("mail").put("hello"))

    assert way.cuts == 1
    assert happened(calm) == ["put", "put"]
    assert [job.id for job in calm.queue("mail").peek(9)] == ["first", job_id]


async def test_plain_put_with_due_housekeeping_happens_once(
    hr: Any, calm: Client, way: Way, moment: str, clock: Clock
) -> None:
    queue = calm.queue("mail")
    queue.put("first", id="first")
    queue.put("soon", start_within=1)
    way.lose(mark(calm, "put"), moment, meanwhile=lambda: clock.tick(2))

    job_id = await got(hr.queue("mail").put("hello"))

    assert way.cuts == 1
    assert [job.id for job in queue.peek(9)] == ["first", job_id]
    assert happened(calm).count("put") == 3


async def test_a_job_is_handed_over_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    queue = calm.queue("mail")
    calm.session("w", ttl=3)
    queue.put("the first of a day", id="first")
    queue.pop("w")[0].complete()
    assert offering(queue).jobs == []
    way.lose(mark(calm, "put"), moment)

    job_id = await got(hr.queue("mail").put("hello"))

    assert way.cuts == 1
    assert happened(calm)[3:] == ["put", "popped"]
    assert calm.job(job_id).state == "running"  # type: ignore[union-attr]  # the job exists


@pytest.mark.parametrize("policy", POLICIES)
async def test_a_put_of_a_new_id_happens_once(
    hr: Any, calm: Client, way: Way, moment: str, policy: str
) -> None:
    way.lose(mark(calm, "put"), moment)

    assert await got(hr.queue("mail").put("hello", id="a", on_exists=policy)) == "a"

    assert way.cuts == 1
    assert happened(calm) == ["put"]


@pytest.mark.parametrize("policy", ["move", "replace"])
async def test_a_put_of_an_id_that_exists_happens_once(
    hr: Any, calm: Client, way: Way, moment: str, policy: str
) -> None:
    calm.queue("mail").put("old", id="a")
    way.lose(mark(calm, "put"), moment)

    assert await got(hr.queue("mail").put("new", id="a", on_exists=policy)) == "a"

    assert happened(calm) == ["put", "put"]
    assert [job.data for job in calm.queue("mail").peek(9)] == ["new"]


async def test_a_put_that_is_refused_is_refused_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put("old", id="a")
    way.lose(mark(calm, "put"), moment)

    with pytest.raises(JobExists):
        await got(hr.queue("mail").put("new", id="a", on_exists="reject"))

    assert happened(calm) == ["put"]
    assert [job.data for job in calm.queue("mail").peek(9)] == ["old"]


async def test_a_put_of_a_duplicate_makes_one_and_returns_its_id(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put("old", id="a")
    way.lose(mark(calm, "put"), moment)

    job_id = await got(hr.queue("mail").put("new", id="a", on_exists="duplicate"))

    assert happened(calm) == ["put", "put"]
    assert {job.id: job.data for job in calm.queue("mail").peek(9)} == {"a": "old", job_id: "new"}


async def test_duplicates_within_one_call_keep_their_ids(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    way.lose(mark(calm, "put"), moment)

    items = [Put("one", id="a"), Put("two", id="a")]
    one, two = await got(hr.queue("mail").put_many(items, on_exists="duplicate"))

    assert happened(calm) == ["put", "put"]
    assert {job.id: job.data for job in calm.queue("mail").peek(9)} == {one: "one", two: "two"}


async def test_many_puts_happen_once_each(hr: Any, calm: Client, way: Way, moment: str) -> None:
    way.lose(mark(calm, "put"), moment, skip=1)

    ids = await got(hr.queue("mail").put_many(range(600)))

    assert way.cuts == 1
    assert happened(calm) == ["put"] * 600
    assert [job.id for job in calm.queue("mail").peek(1000)] == ids


async def test_a_repeated_pop_gets_the_jobs_that_were_handed_out(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    ids = calm.queue("mail").put_many(range(5))
    way.lose(mark(calm, "pop"), moment)

    leases = await got(hr.queue("mail").pop("w", count=3))

    assert way.cuts == 1
    assert [lease.id for lease in leases] == ids[:3]
    assert happened(calm) == ["put"] * 5 + ["popped"] * 3
    assert [await got(lease.complete()) for lease in leases] == ["complete"] * 3
    assert [lease.id for lease in calm.queue("mail").pop("w", count=9)] == ids[3:]


async def test_pushed_payload_is_taken_in_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.core.transport.send([(0, ("LPUSH", calm.core.key(0, "ingress:mail"), "1", "2", "3"))])
    way.lose(mark(calm, "pop"), moment)

    leases = await got(hr.queue("mail").pop("w", count=2))

    assert way.cuts == 1
    assert [lease.data for lease in leases] == [1, 2]
    assert happened(calm) == ["put"] * 3 + ["popped"] * 2


async def test_repeated_pop_does_not_touch_earlier_leases(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put_many(range(4))
    held = [lease.id for lease in await got(hr.queue("mail").pop("w", count=2))]
    way.lose(mark(calm, "pop"), moment)

    leases = await got(hr.queue("mail").pop("w", count=2))

    assert not {lease.id for lease in leases} & set(held)
    assert happened(calm) == ["put"] * 4 + ["popped"] * 4


async def test_repeated_pop_after_the_session_expired_returns_no_lost_job(
    hr: Any, calm: Client, clock: Clock, way: Way
) -> None:
    calm.queue("mail").put("x", id="a")
    calm.session("w", ttl=3)
    way.lose(mark(calm, "pop"), "before the answer", meanwhile=lambda: clock.tick(5))

    leases = await got(hr.queue("mail").pop("w"))

    assert [lease.attempt for lease in leases] == [2]
    assert happened(calm) == ["put", "popped", "lost", "popped"]
    assert await got(leases[0].complete()) == "complete"


async def test_repeated_pop_does_not_take_a_job_from_its_new_holder(
    hr: Any, calm: Client, clock: Clock, way: Way
) -> None:
    calm.queue("mail").put("x", id="a")

    def overtake() -> None:
        clock.tick(60)
        assert [lease.id for lease in calm.queue("mail").pop("other")] == ["a"]

    way.lose(mark(calm, "pop"), "before the answer", meanwhile=overtake)

    assert await got(hr.queue("mail").pop("w")) == []
    assert happened(calm) == ["put", "popped", "lost", "popped"]


async def test_fifo_job_is_lost_with_the_answer(hr: Any, calm: Client, way: Way) -> None:
    """This profile delivers at most once; the log still names the worker."""
    calm.queue("mail").configure("fifo")
    ids = calm.queue("mail").put_many(["x", "y"])
    way.lose(mark(calm, "pop"), "before the answer")

    assert [lease.id for lease in await got(hr.queue("mail").pop("w"))] == ids[1:]

    assert happened(calm) == ["put", "put", *["popped", "completed"] * 2]
    assert [event.worker for event in calm.events() if event.kind == "popped"] == ["w", "w"]


@pytest.mark.parametrize(
    ("profile", "lease"), [("manual", None), ("job", None), ("job", 30), ("job", math.inf)]
)
async def test_lost_pop_finds_its_jobs_among_many_running_jobs(
    hr: Any, calm: Client, way: Way, profile: str, lease: float | None
) -> None:
    queue = calm.queue("mail")
    queue.configure(profile)
    calm.session("w", ttl=None)
    calm.session("other", ttl=None)
    ids = queue.put_many(range(11_040))

    def pop_many(worker: str) -> list[str]:
        return [one.id for _ in range(11) for one in queue.pop(worker, count=500, lease=lease)]

    pop_many("other")
    way.lose(mark(calm, "pop"), "before the answer", meanwhile=lambda: print(len(pop_many("w"))))

    leases = await got(hr.queue("mail").pop("w", count=40, lease=lease))

    assert way.cuts == 1
    assert [one.id for one in leases] == ids[5500:5540]
    assert queue.counts().running == 11_040
    assert await got(hr.leases.complete(leases)) == ["complete"] * 40
