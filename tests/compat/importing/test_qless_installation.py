"""qless as a whole: its direction, what is tied together, and numbers that are none."""

from __future__ import annotations

import pytest

from headrace import Client, ImportRefused
from headrace.compat.importing.verifying import verify
from tests.compat.importing.old import Old, imported, nothing
from tests.compat.importing.test_qless import DAY, YESTERDAY, at, lay_job, lay_later, lay_queue
from tests.engine.shortcuts import found as job_of
from tests.engine.shortcuts import pop_one
from tests.proof import proves


@proves("QL-24")
def test_one_job_of_a_later_version_shows_the_direction_of_all(hr: Client, old: Old) -> None:
    lay_job(old, "a", priority=1)
    lay_job(old, "b", priority=5)
    lay_later(old, "c", priority=3)
    old.lay("ZADD ql:q:example-work 1 a 5 b 3 c")

    imported(hr, old, "qless")

    assert [job.id for job in hr.queue("example").jobs("waiting").jobs] == ["b", "c", "a"]
    assert job_of(hr, "b").data == {"hello": "how are you"}


@proves("QL-13")
def test_tracked_jobs_are_tracked_here(hr: Client, old: Old) -> None:
    lay_queue(old)
    old.lay("ZADD ql:tracked 1 held 2 later 3 gone")

    found = imported(hr, old, "qless")

    assert sorted(job.id for job in hr.tracked().jobs) == ["held", "later"]
    assert found.plan.left_out == ["gone: tracked, but there is no such job"]
    hr.untrack("held")
    place = old.place("qless")
    again = verify(hr, place, found.plan, nothing)
    assert again.faults == ["job 'held' of 'example' has another tracked here"]


def test_a_job_depends_on_those_it_came_with(hr: Client, old: Old) -> None:
    hr.queue("mine").put(1, id="high")
    lay_later(old, "high")
    lay_later(old, "child", state="depends")
    lay_later(old, "grandchild", state="depends")
    old.say("HSET", b"ql:j:\xff", "state", "waiting", "queue", "example", "data", "1")
    old.say("SADD", "ql:j:child-dependencies", "high", b"\xff")
    old.say("ZADD", "ql:q:example-work", "1", "high", "2", b"\xff")
    old.lay("""
        ZADD ql:q:example-depends 1 grandchild 1 child
        SADD ql:j:grandchild-dependencies child high
    """)

    imported(hr, old, "qless")

    high, odd = (job.id for job in hr.queue("example").jobs("waiting").jobs)
    assert sorted(job_of(hr, "child").depends_on) == sorted([high, odd])
    assert high.startswith("{high}~") or odd.startswith("{high}~")
    assert job_of(hr, "high").dependents == []


def test_what_a_job_waits_for_may_be_left_out_or_done_by_now(hr: Client, old: Old) -> None:
    for name in "ab":
        lay_later(old, name)
    lay_later(old, "elsewhere", queue="other")
    lay_later(old, "child", state="depends")
    old.lay("""
        ZADD ql:q:example-work 1 a 2 b
        ZADD ql:q:other-work 1 elsewhere
        ZADD ql:q:example-depends 1 child
        SADD ql:j:child-dependencies a b elsewhere
    """)
    imported(hr, old, "qless", None, "example")
    assert sorted(job_of(hr, "child").depends_on) == ["a", "b"]
    pop_one(hr.queue("example")).complete()

    imported(hr, old, "qless", None, "example")


def test_other_queues_may_have_names_that_cannot_be_here(hr: Client, old: Old) -> None:
    lay_queue(old)
    old.say("ZADD", b"ql:q:\xff-work", "1", "x")

    assert imported(hr, old, "qless", None, "example").brought.made == 5
    with pytest.raises(ImportRefused, match="choose others with --queue"):
        imported(hr, old, "qless")


def test_numbers_that_are_none_or_too_large_do_no_harm(hr: Client, old: Old) -> None:
    large = "9" * 5000
    lay_later(old, "a", retries=large, remaining="10000000", priority="1e400", expires="nan")
    lay_later(old, "b", retries="\u00b2", remaining="-3", tags='["' + "x" * 300 + '"]')
    lay_job(old, "c", history=f'[["example", {large}, -1, "x", 7], [], 5, {{"q": 3}}]')
    old.lay(f"""
        ZADD ql:q:example-work 1 a 2 b 3 c
        ZADD ql:q:example-scheduled inf later
        ZADD ql:q:example-recur 1 r 2 s
        HSET ql:j:later state scheduled queue example data 1
        HSET ql:r:r interval 99999999999 backlog 5000 retries 99999999
        HSET ql:r:s interval {large}
        HSET ql:config heartbeat 0 jobs-history 999999999999 example-heartbeat \u00b2
        HSET ql:config jobs-history-count {large} example-max-concurrency 0
        HSET ql:s:wait:{YESTERDAY}:example total inf mean 1 vk 0
        HSET ql:s:run:{YESTERDAY}:example total 1 mean nan vk 0
        HSET ql:s:wait:{large}:example total 1 mean 1
    """)

    found = imported(hr, old, "qless")

    assert found.counts[("example", "waiting")] == 3
    a = job_of(hr, "a")
    assert (a.retries, a.remaining, a.priority) == (5, 1_000_000, 0)
    assert job_of(hr, "later").due == at(0.001)
    assert hr.config.get("lease") == hr.queue("example").settings()["lease"] == 60
    assert hr.config.get("keep_age") == 100 * 365 * DAY
    schedule = hr.schedule("r")
    assert schedule is not None
    assert (schedule.backlog, schedule.options["retries"]) == (1000, 1_000_000)
    assert hr.schedule("s") is None
