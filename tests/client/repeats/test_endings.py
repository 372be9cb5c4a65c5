"""complete, fail, release and heartbeat take effect once, even if they are repeated."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, Fail, LeaseLost, Put
from headrace.testing import Clock
from tests.support.clients import got
from tests.support.proxy import Way
from tests.support.repeats import happened, mark


@pytest.mark.parametrize("profile", ["job", "task", "manual"])
async def test_a_completion_happens_once(
    hr: Any, calm: Client, way: Way, moment: str, profile: str
) -> None:
    queue = hr.queue("mail")
    await got(queue.configure(profile))
    session = await got(hr.session("w"))
    await got(session.serve("mail"))
    await got(queue.put("x", id="a"))
    [lease] = await got(queue.pop("w"))
    way.lose(mark(calm, "complete"), moment)

    assert await got(lease.complete()) == "complete"

    assert way.cuts == 1
    assert happened(calm) == ["put", "popped", "completed"]
    with pytest.raises(Exception, match=r"does not exist|no longer leased"):
        await got(lease.complete())


async def test_completion_repeated_after_a_reclaim_raises_lease_lost(
    hr: Any, calm: Client, clock: Clock, way: Way
) -> None:
    calm.queue("mail").put("x", id="a")
    [lease] = await got(hr.queue("mail").pop("w", lease=30))

    def overtake() -> None:
        clock.tick(30)
        calm.queue("mail").pop("other")

    way.lose(mark(calm, "complete"), "before the request", meanwhile=overtake)

    with pytest.raises(LeaseLost) as lost:
        await got(lease.complete())

    assert lost.value.worker == "other"
    assert happened(calm) == ["put", "popped", "lost", "popped"]


async def test_a_completion_with_a_result_and_the_next_pop_happen_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put_many([Put("x", id="a"), Put("y", id="b")])
    leases = await got(hr.queue("mail").pop("w"))
    way.lose(mark(calm, "pop"), moment)

    answers, leases = await got(hr.queue("mail").complete_and_pop(leases, "w", results=[7]))

    assert way.cuts == 1
    assert len(answers) == 1
    assert not isinstance(answers[0], Exception)
    assert [lease.id for lease in leases] == ["b"]
    assert calm.result("a").value == 7
    assert happened(calm) == ["put", "put", "popped", "completed", "popped"]


async def test_a_job_moves_on_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    [lease] = await got(hr.queue("mail").pop("w"))
    way.lose(mark(calm, "complete"), moment)

    assert await got(lease.complete(next="archive")) == "waiting"

    assert way.cuts == 1
    assert happened(calm) == ["put", "popped", "completed"]
    assert calm.queue("archive").counts().waiting == 1


async def test_many_completions_happen_once_each(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put_many(range(600))
    leases = calm.queue("mail").pop("w", count=500)
    way.lose(mark(calm, "complete"), moment, skip=1)

    answers = await got(hr.leases.complete(leases))

    assert way.cuts == 1
    assert set(answers) == {"complete"}
    assert happened(calm).count("completed") == 500


@pytest.mark.parametrize("retry_in", [None, 0, 10])
async def test_a_failure_counts_once(
    hr: Any, calm: Client, way: Way, moment: str, retry_in: int | None
) -> None:
    calm.queue("mail").put("x", id="a", retries=3)
    [lease] = await got(hr.queue("mail").pop("w"))
    way.lose(mark(calm, "fail"), moment)

    state = await got(lease.fail("boom", "why", retry_in=retry_in))

    assert way.cuts == 1
    assert state == {None: "failed", 0: "waiting", 10: "scheduled"}[retry_in]
    assert happened(calm) == ["put", "popped", "failed" if retry_in is None else "retried"]
    [job] = calm.jobs(["a"])
    assert job.remaining == (3 if retry_in is None else 2)
    assert calm.queue("mail").stats().failures == (1 if retry_in is None else 0)


async def test_many_failures_count_once_each(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put_many(range(600))
    leases = calm.queue("mail").pop("w", count=500)
    items = [Fail(lease, "boom", retry_in=lease.data % 2 or None) for lease in leases]
    way.lose(mark(calm, "fail"), moment, skip=1)

    answers = await got(hr.leases.fail(items))

    assert way.cuts == 1
    assert answers == ["scheduled" if lease.data % 2 else "failed" for lease in leases]
    assert (happened(calm).count("failed"), happened(calm).count("retried")) == (250, 250)


@pytest.mark.parametrize("position", ["front", "back"])
async def test_a_release_counts_once(
    hr: Any, calm: Client, way: Way, moment: str, position: str
) -> None:
    calm.queue("mail").put("x", id="a")
    [lease] = await got(hr.queue("mail").pop("w"))
    way.lose(mark(calm, "release"), moment)

    assert await got(lease.release(position=position)) == "waiting"

    assert way.cuts == 1
    assert happened(calm) == ["put", "popped", "released"]
    assert calm.jobs(["a"])[0].releases == 1


async def test_a_repeated_heartbeat_renews_the_lease(
    hr: Any, calm: Client, clock: Clock, way: Way, moment: str
) -> None:
    calm.queue("mail").put("x", id="a")
    [lease] = await got(hr.queue("mail").pop("w", lease=30))
    clock.tick(20)
    way.lose(mark(calm, "heartbeat"), moment)

    deadline = await got(lease.heartbeat(lease_for=30, data="y"))

    assert way.cuts == 1
    assert calm.jobs(["a"])[0].expires == deadline
    assert (deadline - clock.now).total_seconds() == 30
    assert calm.jobs(["a"])[0].data == "y"
    assert happened(calm) == ["put", "popped", "updated"]


async def test_heartbeat_repeated_after_the_job_finished_raises(
    hr: Any, calm: Client, way: Way
) -> None:
    calm.queue("mail").put("x", id="a")
    [lease] = await got(hr.queue("mail").pop("w"))
    way.lose(
        mark(calm, "heartbeat"), "before the request", meanwhile=lambda: print(calm.finish("a"))
    )

    with pytest.raises(LeaseLost, match="complete"):
        await got(lease.heartbeat())


async def test_a_line_is_logged_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    [lease] = await got(hr.queue("mail").pop("w"))
    await got(lease.log("one"))
    way.lose(mark(calm, "log"), moment)

    await got(lease.log("two"))

    assert way.cuts == 1
    assert [line for _, line in calm.jobs(["a"])[0].log] == ["one", "two"]


async def test_a_line_like_the_one_before_is_logged_too(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put("x", id="a")
    [lease] = await got(hr.queue("mail").pop("w"))
    await got(lease.log("tick"))
    way.lose(mark(calm, "log"), moment)

    await got(lease.log("tick"))

    assert [line for _, line in calm.jobs(["a"])[0].log] == ["tick", "tick"]


async def test_last_progress_wins(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    [lease] = await got(hr.queue("mail").pop("w"))
    way.lose(mark(calm, "progress"), moment)

    await got(lease.progress(0.5, "half"))

    assert way.cuts == 1
    assert (calm.jobs(["a"])[0].progress, calm.jobs(["a"])[0].note) == (0.5, "half")
