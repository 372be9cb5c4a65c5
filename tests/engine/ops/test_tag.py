"""tag and untag: a job in any state can get and lose tags, and has each tag once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace import Client, JobNotFound, Limits, Queue, TooMany
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import found, pop_one

BRING: dict[str, Callable[[Queue], object]] = {
    "waiting": lambda queue: queue.put(1, id="x", tags=["a"]),
    "scheduled": lambda queue: queue.put(1, id="x", tags=["a"], delay=60),
    "running": lambda queue: (BRING["waiting"](queue), pop_one(queue)),
    "failed": lambda queue: (BRING["waiting"](queue), pop_one(queue).fail("io")),
    "complete": lambda queue: (BRING["waiting"](queue), pop_one(queue).complete()),
}


@proves("QL-15")
@pytest.mark.parametrize("state", BRING)
def test_a_job_in_any_state_gets_tags_and_loses_them(hr: Client, queue: Queue, state: str) -> None:
    BRING[state](queue)

    assert hr.tags.add("x", "b", "c") == ["a", "b", "c"]
    assert (found(hr, "x").tags, found(hr, "x").state) == (["a", "b", "c"], state)
    assert hr.tags.remove("x", "a", "c") == ["b"]

    assert found(hr, "x").tags == ["b"]
    assert hr.tags.top(least=1) == {"b": 1}
    assert hr.audit().problems == []


@proves("QL-15")
def test_a_tag_that_is_given_again_changes_nothing(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x", tags=["a"])
    clock.tick(5)
    before = dump(hr)

    assert hr.tags.add("x", "a", "a") == ["a"]
    assert hr.tags.add("x") == ["a"]

    assert dump(hr) == before
    assert hr.tags.top(least=1) == {"a": 1}


@proves("QL-15")
def test_removing_a_missing_tag_changes_nothing(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", tags=["a"])
    before = dump(hr)

    assert hr.tags.remove("x", "b") == ["a"]
    assert hr.tags.remove("x") == ["a"]

    assert dump(hr) == before


@proves("QL-15")
def test_tag_is_deleted_with_its_last_job(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", tags=["a"])

    assert hr.tags.remove("x", "a") == []

    assert hr.tags.top(least=1) == {}
    assert not [key for key in dump(hr) if ":tag:" in key or key.endswith(":tags")]


@proves("QL-15")
def test_changed_tags_write_an_event(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")
    hr.tags.add("x", "ä", "b")
    hr.tags.add("x", "b")
    hr.tags.remove("x", "b", "ä")

    told = [(event.kind, event.job_id, event.tags) for event in hr.events()]

    assert told[1:] == [("tagged", "x", '["ä","b"]'), ("tagged", "x", "[]")]


@pytest.mark.parametrize("call", ["add", "remove"])
def test_an_unknown_job_has_no_tags(hr: Client, queue: Queue, call: str) -> None:
    queue.put(1, id="x", tags=["a"])
    before = dump(hr)

    with pytest.raises(JobNotFound):
        getattr(hr.tags, call)("nobody", "a")

    assert dump(hr) == before


@proves("QL-15")
def test_a_job_has_no_more_tags_than_the_limit_says(url: str) -> None:
    hr, _ = open_with_clock(url, limits=Limits(tags=2))
    with hr:
        hr.queue("mail").put(1, id="x", tags=["a"])
        before = dump(hr)

        with pytest.raises(TooMany, match="would have more than 2 tags") as refused:
            hr.tags.add("x", "b", "c")

        assert (refused.value.job_id, refused.value.limit) == ("x", 2)
        assert dump(hr) == before
        assert hr.tags.add("x", "a", "b") == ["a", "b"]


def test_tags_above_the_limit_of_another_client_are_kept(hr: Client, url: str) -> None:
    hr.queue("mail").put(1, id="x", tags=["a", "b", "c"])
    strict, _ = open_with_clock(url, limits=Limits(tags=2), namespace=hr.core.namespace)
    with strict:
        assert strict.tags.add("x", "a") == ["a", "b", "c"]
        assert strict.tags.remove("x", "b") == ["a", "c"]
