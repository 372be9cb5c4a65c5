"""Unique jobs are put once and tags added once, even if the call is repeated."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, JobExists, Put
from tests.support.clients import got
from tests.support.proxy import Way
from tests.support.repeats import happened, mark


async def test_a_unique_job_is_made_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    way.lose(mark(calm, "put"), moment)

    made = await got(hr.queue("mail").put("x", unique=True))

    assert way.cuts == 1
    assert happened(calm) == ["put"]
    assert [job.id for job in calm.queue("mail").peek(9)] == [made]


async def test_a_unique_job_that_runs_already_is_not_made_again(
    hr: Any, calm: Client, way: Way
) -> None:
    way.lose(
        mark(calm, "put"),
        "before the answer",
        meanwhile=lambda: print(calm.queue("mail").pop("w")),
    )

    made = await got(hr.queue("mail").put("x", unique="u", on_exists="replace"))

    assert happened(calm) == ["put", "popped"]
    assert [job.id for job in calm.queue("mail").jobs("running").jobs] == [made]


async def test_waiting_job_is_replaced_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    first = calm.queue("mail").put("old", unique="u", delay=60)
    way.lose(mark(calm, "put"), moment)

    assert (
        await got(hr.queue("mail").put("new", unique="u", delay=60, on_exists="replace")) == first
    )

    assert way.cuts == 1
    assert happened(calm) == ["put", "put"]
    assert [job.data for job in calm.jobs([first])] == ["new"]


async def test_replaced_job_that_already_runs_is_not_replaced_again(
    hr: Any, calm: Client, way: Way
) -> None:
    mail = calm.queue("mail")
    first = mail.put("old", unique="u")
    way.lose(mark(calm, "put"), "before the answer", meanwhile=lambda: print(mail.pop("w")))

    assert await got(hr.queue("mail").put("new", unique="u", on_exists="replace")) == first

    assert happened(calm) == ["put", "put", "popped"]
    assert [job.data for job in calm.jobs([first])] == ["new"]


async def test_replacement_of_a_job_that_has_ended_meanwhile_is_made_once(
    hr: Any, calm: Client, way: Way
) -> None:
    mail = calm.queue("mail")
    first = mail.put("old", unique="u")
    way.lose(
        mark(calm, "put"),
        "before the answer",
        meanwhile=lambda: print(mail.pop("w")[0].complete()),
    )

    second = await got(hr.queue("mail").put("new", unique="u", on_exists="replace"))

    assert second == first
    assert happened(calm) == ["put", "put", "popped", "completed"]


async def test_replacement_of_a_running_job_is_made_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put("old", unique="u")
    calm.queue("mail").pop("w")
    way.lose(mark(calm, "put"), moment)

    made = await got(hr.queue("mail").put("new", unique="u", on_exists="replace"))

    assert way.cuts == 1
    assert happened(calm) == ["put", "popped", "put"]
    assert [job.id for job in calm.queue("mail").peek(9)] == [made]


async def test_equal_ones_of_a_call_are_refused_again(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    way.lose(mark(calm, "put"), moment)

    with pytest.raises(JobExists):
        await got(hr.queue("mail").put_many([Put(1, unique="u"), Put(2, unique="u"), 3]))

    assert way.cuts == 1
    assert happened(calm) == ["put", "put"]
    assert [job.data for job in calm.queue("mail").peek(9)] == [1, 3]


async def test_tags_are_added_and_removed_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").put("x", id="a")
    way.lose(mark(calm, "tag"), moment)
    assert await got(hr.tags.add("a", "x", "y")) == ["x", "y"]
    way.lose(mark(calm, "untag"), moment)
    assert await got(hr.tags.remove("a", "x")) == ["y"]

    assert way.cuts == 2
    assert happened(calm) == ["put", "tagged", "tagged"]
    assert calm.tags.top(least=1) == {"y": 1}


async def test_a_job_is_tracked_and_untracked(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").put("x", id="a")
    way.lose(mark(calm, "track"), moment)
    assert await got(hr.tracking.add("a")) == "waiting"
    assert [job.id for job in calm.tracking.list().jobs] == ["a"]
    way.lose(mark(calm, "untrack"), moment)
    await got(hr.tracking.remove("a"))

    assert way.cuts == 2
    assert calm.tracking.list().jobs == []
