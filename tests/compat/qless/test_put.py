"""put: create a job or move it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.testing import START, Clock
from tests.compat.qless.conftest import OpenQless
from tests.proof import proves
from tests.support.dump import dump

NOW = START.timestamp()


@proves("Q-05", "Q-20", "Q-27")
def test_put_creates_a_waiting_job_and_its_queue(qless: Any) -> None:
    put = qless.put("example", "deadbeef", '{"hello": 1}', NOW, -1, '["a", "b"]', 0)

    assert put == "deadbeef"

    job = qless.jobs["deadbeef"]
    assert (job.data, job.priority, job.tags) == ({"hello": 1}, -1, ["a", "b"])
    assert (job.state, job.queue, job.worker, job.expires) == ("waiting", "example", "", 0)
    assert [one["name"] for one in qless.queues.counts()] == ["example"]


@proves("Q-21", "Q-24", "Q-85")
@pytest.mark.parametrize("state", ["waiting", "scheduled", "running", "failed", "complete"])
def test_put_moves_an_existing_job_in_any_state(qless: Any, hr: Client, state: str) -> None:
    first, second = qless.queues["first"], qless.queues["second"]
    first.put(1, id="j", delay=60 if state == "scheduled" else None)
    if state in ("running", "failed", "complete"):
        job = first.pop()
        if state == "failed":
            job.fail("kind", "why")
        elif state == "complete":
            job.complete()

    assert second.put(2, id="j") == "j"

    moved = qless.jobs["j"]
    assert (moved.queue, moved.state, moved.data) == ("second", "waiting", 2)
    assert [stage[0] for stage in moved.history] == ["first", "second"]
    assert (first.length(), second.length()) == (0, 1)
    assert hr.audit().balanced


@proves("Q-21")
def test_put_moves_a_job_even_if_the_queue_rejects_duplicates(
    queue: Any, qless: Any, hr: Client
) -> None:
    hr.queue("testing").configure(on_exists="reject")
    queue.put(1, id="j")

    queue.put(2, id="j")

    assert (qless.jobs["j"]).data == 2


@proves("Q-22")
@pytest.mark.parametrize("whose", ["its own", "another"])
def test_put_of_a_running_job_takes_it_from_its_holder(qless: Any, other: Any, whose: str) -> None:
    qless.put("first", "j", "1", NOW)
    qless.pop("first", "w1", 1, NOW, NOW + 60)

    (qless if whose == "its own" else other).put("second", "j", "1", NOW)

    assert qless.heartbeat("j", "w1", NOW + 10**9) is False
    assert qless.complete("j") is False
    assert (qless.get("j"))["state"] == "waiting"


@proves("Q-23")
def test_move_replaces_the_data_and_keeps_priority_and_tags(queue: Any, qless: Any) -> None:
    queue.put("old", 7, ["a"], id="j")

    queue.put("new", id="j")
    kept = qless.jobs["j"]
    assert (kept.data, kept.priority, kept.tags) == ("new", 7, ["a"])

    queue.put("new", -1, [], id="j")
    changed = qless.jobs["j"]
    assert (changed.priority, changed.tags) == (-1, [])


@proves("Q-25", "Q-83")
def test_put_removes_a_failed_job_from_its_failure_list(queue: Any, qless: Any) -> None:
    queue.put(1, id="j")
    queue.pop().fail("upload error", "why")
    assert qless.failed() == {"upload error": 1}

    queue.put(1, id="j")

    assert qless.failed() == {}
    assert (qless.jobs["j"]).failure is None


@proves("Q-26")
def test_put_of_a_complete_job_makes_it_wait_and_prevents_pruning(
    queue: Any, hr: Client, clock: Clock
) -> None:
    queue.put(1, id="j")
    queue.pop().complete()
    queue.put(1, id="j")

    clock.tick(8 * 86_400)
    hr.sweep()

    assert queue.pop().id == "j"


@proves("Q-28", "Q-29")
def test_lower_priority_runs_first_and_equal_ones_in_put_order(
    queue: Any,
) -> None:
    for name, priority in [("b", 0), ("low", 10), ("a", 0), ("high", -10), ("0", None)]:
        queue.put(None, priority, id=name)

    assert [job.id for job in queue.pop(5)] == ["high", "b", "a", "0", "low"]


@proves("Q-28")
def test_higher_first_reverses_priorities_in_qless_only(open_qless: OpenQless, hr: Client) -> None:
    later = open_qless("w1", higher_first=True)
    queue = later.queues["testing"]
    queue.put(None, 1, id="low")
    queue.put(None, 5, id="high")
    queue.put(None, id="none")
    assert later.priority("low", 2) == 2

    popped = queue.pop(3)

    assert [(job.id, job.priority) for job in popped] == [("high", 5), ("low", 2), ("none", 0)]
    stored = hr.job("high")
    assert stored is not None
    assert stored.priority == -5


@proves("Q-30")
def test_tags_are_a_list_of_unique_texts(queue: Any, qless: Any) -> None:
    queue.put(1, id="none")
    qless.put("testing", "some", "1", NOW, 0, '["a", "b", "a"]')

    assert (qless.jobs["none"]).tags == []
    assert (qless.get("some"))["tags"] == '["a","b"]'


@proves("Q-31", "QD-06")
def test_delay_schedules_the_job_until_that_time(qless: Any, queue: Any, clock: Clock) -> None:
    qless.put("testing", "j", "1", NOW, 0, "[]", 10)
    assert (qless.get("j"))["state"] == "scheduled"

    clock.tick(9.999)
    assert queue.pop() is None
    clock.tick(0.001)
    assert queue.pop().id == "j"


@proves("Q-32", "QD-10")
@pytest.mark.parametrize("blob", ["[]", "{}", '{"a":[]}', "9007199254740993", "null", '"text"'])
def test_data_survives_the_round_trip(qless: Any, blob: str) -> None:
    qless.put("testing", "j", blob, NOW)
    [popped] = qless.pop("testing", "w1", 1, NOW, NOW + 60)
    qless.heartbeat("j", "w1", 4e9)
    qless.complete("j", None, "next")

    assert popped["data"] == blob
    assert (qless.get("j"))["data"] == blob


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
def test_put_with_invalid_arguments_changes_nothing(
    qless: Any, hr: Client, arguments: tuple[Any, ...]
) -> None:
    before = dump(hr)

    with pytest.raises(InvalidArgument):
        qless.put(*arguments)

    assert dump(hr) == before


@proves("Q-04")
def test_put_without_its_arguments_raises_type_error(qless: Any) -> None:
    with pytest.raises(TypeError):
        qless.put("testing", "j", "1")
