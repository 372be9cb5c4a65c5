"""Operator calls on jobs and queues take effect once, even if they are repeated."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Bulk, Client, JobNotFound, QueueNotFound, WrongState
from tests.support.clients import got
from tests.support.proxy import Way
from tests.support.repeats import happened, mark


async def test_a_job_is_cancelled_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    way.lose(mark(calm, "cancel"), moment)

    assert await got(hr.cancel("a")) == ["a"]

    assert way.cuts == 1
    assert happened(calm) == ["put", "cancelled"]


async def test_jobs_are_cancelled_by_their_data_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    ids = calm.queue("mail").put_many(["x"] * 1200)
    way.lose(mark(calm, "cancel_matching"), moment)

    named = await got(hr.queue("mail").cancel_matching("x"))

    assert named == ids
    assert way.cuts == 1
    assert happened(calm) == ["put"] * 1200 + ["cancelled"] * 1200


async def test_failed_job_is_retried_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    calm.fail("a", "boom")
    way.lose(mark(calm, "retry"), moment)

    assert await got(hr.retry("a")) == ["waiting"]

    assert way.cuts == 1
    assert happened(calm) == ["put", "failed", "unfailed"]


@pytest.mark.parametrize("call", ["retry", "cancel"])
async def test_failed_jobs_are_retried_or_cancelled_once_each(
    hr: Any, calm: Client, way: Way, moment: str, call: str
) -> None:
    events = {"retry": "unfailed", "cancel": "cancelled"}
    for job_id in calm.queue("mail").put_many(range(20)):
        calm.fail(job_id, "boom")
    way.lose(mark(calm, call), moment)

    assert await got(getattr(hr.failures, call)("boom", count=12)) == Bulk(12, 12, 0)

    assert way.cuts == 1
    assert happened(calm) == ["put"] * 20 + ["failed"] * 20 + [events[call]] * 12


async def test_a_job_is_requeued_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    way.lose(mark(calm, "requeue"), moment)

    assert await got(hr.requeue("a", "other")) == "waiting"

    assert way.cuts == 1
    assert happened(calm) == ["put", "put"]
    assert [job.id for job in calm.queue("other").peek(9)] == ["a"]


async def test_repeated_requeue_does_not_affect_a_job_that_moved_on(
    hr: Any, calm: Client, way: Way
) -> None:
    calm.queue("mail").put("x", id="a")
    way.lose(
        mark(calm, "requeue"),
        "before the answer",
        meanwhile=lambda: print(calm.queue("mail").pop("w")),
    )

    assert await got(hr.requeue("a")) == "waiting"

    assert happened(calm) == ["put", "put", "popped"]


async def test_a_priority_changes_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    way.lose(mark(calm, "prioritise"), moment)

    assert await got(hr.prioritise("a", -5)) == "waiting"

    assert way.cuts == 1
    assert happened(calm) == ["put", "prioritised"]


async def test_an_operator_finishes_a_job_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").pop("w")
    way.lose(mark(calm, "complete"), moment)

    assert await got(hr.finish("a", 7)) == "complete"

    assert way.cuts == 1
    assert calm.result("a").value == 7
    assert happened(calm) == ["put", "popped", "completed"]


async def test_an_operator_fails_a_job_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    way.lose(mark(calm, "fail"), moment)

    assert await got(hr.fail("a", "boom", "why")) == "failed"

    assert way.cuts == 1
    assert happened(calm) == ["put", "failed"]
    assert calm.queue("mail").stats().failures == 1
    assert len(calm.jobs(["a"])[0].history) == 1


async def test_an_operator_releases_a_job_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").pop("w")
    way.lose(mark(calm, "release"), moment)

    assert await got(hr.release("a")) == "waiting"

    assert way.cuts == 1
    assert happened(calm) == ["put", "popped", "released"]


async def test_lease_is_reclaimed_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").pop("w")
    way.lose(mark(calm, "timeout"), moment)

    assert await got(hr.timeout("a")) == ["waiting"]

    assert way.cuts == 1
    assert happened(calm) == ["put", "popped", "lost"]


async def test_queue_is_configured_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    way.lose(mark(calm, "configure"), moment)

    await got(hr.queue("mail").configure("task", lease=7))

    assert way.cuts == 1
    assert calm.queue("mail").settings()["lease"] == 7
    assert calm.queue("mail").settings()["session"] == "required"
    assert list(calm.queues()) == ["mail"]


async def test_a_setting_of_the_namespace_is_set(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    way.lose(mark(calm, "config_set"), moment)

    await got(hr.config.set("lease", 7))

    assert way.cuts == 1
    assert calm.config.get("lease") == 7


async def test_a_queue_is_deleted_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put_many(range(700))
    way.lose(mark(calm, "delete_queue"), moment, skip=1)

    await got(hr.queue("mail").delete())

    assert way.cuts == 1
    assert happened(calm) == ["put"] * 700 + ["cancelled"] * 700
    with pytest.raises(QueueNotFound):
        await got(hr.queue("mail").delete())


async def test_repeated_read_returns_the_same_answer(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put("x", id="a")
    for op in ("get", "counts", "peek", "list_ids"):
        way.lose(mark(calm, op), moment)

    assert (await got(hr.job("a"))).data == "x"
    assert (await got(hr.queue("mail").counts())).waiting == 1
    assert [job.id for job in await got(hr.queue("mail").peek())] == ["a"]
    assert (await got(hr.queue("mail").jobs("waiting"))).total == 1
    assert way.cuts == 4


async def test_lost_refusal_is_repeated(hr: Any, calm: Client, way: Way) -> None:
    calm.queue("mail").put("x", id="a")
    calm.queue("mail").pop("w")
    way.lose(mark(calm, "requeue"), "before the answer")

    with pytest.raises(JobNotFound):
        await got(hr.requeue("unknown"))
    way.lose(mark(calm, "result"), "before the answer")
    with pytest.raises(JobNotFound):
        await got(hr.result("unknown"))
    calm.finish("a")
    way.lose(mark(calm, "prioritise"), "before the answer")
    with pytest.raises(WrongState):
        await got(hr.prioritise("a", 1))
    assert way.cuts == 3
