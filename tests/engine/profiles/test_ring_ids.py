"""ring: an id is one job; finishing it affects this job, not later jobs of the same id."""

from __future__ import annotations

import pytest

from headrace import Client, JobExists, JobNotFound, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import ids, pop_one


@pytest.fixture
def ring(hr: Client) -> Queue:
    queue = hr.queue("round")
    queue.configure(profile="ring")
    return queue


@proves("R-11", "RD-03")
def test_finish_never_removes_a_later_job_with_the_same_id(
    hr: Client, ring: Queue, clock: Clock
) -> None:
    ring.put("first", id="a")
    pop_one(ring, "slow")
    clock.tick(30)
    pop_one(ring, "quick")
    hr.finish("a")
    with pytest.raises(JobNotFound):
        hr.finish("a")

    ring.put("second", id="a")

    for _ in range(3):
        assert [lease.data for lease in ring.pop("w")] == ["second"]
        clock.tick(30)


@proves("RD-04")
def test_the_same_id_is_the_same_job(hr: Client, ring: Queue) -> None:
    ring.put("x", id="a")
    for state in ("waiting", "running"):
        before = dump(hr)
        with pytest.raises(JobExists) as refused:
            ring.put("y", id="a")
        assert refused.value.state == state
        assert dump(hr) == before
        ring.pop("w")

    hr.finish("a")

    assert ring.length() == 0


@proves("RD-05")
@pytest.mark.parametrize(
    "job_id", ["a|b", "|", "123|1417696237", "a:b", "{a}", "ä ö%s", "0", "'\""]
)
def test_any_visible_character_may_be_in_an_id(
    hr: Client, ring: Queue, clock: Clock, job_id: str
) -> None:
    assert ring.put("x", id=job_id) == job_id
    for _ in range(2):
        assert ids(ring.pop("w")) == [job_id]
        clock.tick(30)

    hr.finish(job_id)

    assert ring.pop("w") == []
