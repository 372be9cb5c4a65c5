"""Priorities, dependencies, tracking and invalid numbers of a qless installation."""

from __future__ import annotations

import pytest

from headrace import Client, ImportRefused
from tests.compat.importing.support.installation import Installation, run_import
from tests.compat.importing.test_qless import DAY, at, write_job, write_later, write_queue
from tests.proof import proves
from tests.support.jobs import found as job_of
from tests.support.jobs import pop_one


@proves("QL-24")
def test_one_job_of_a_later_version_reverses_all_priorities(hr: Client, old: Installation) -> None:
    write_job(old, "a", priority=1)
    write_job(old, "b", priority=5)
    write_later(old, "c", priority=3)
    old.write("ZADD ql:q:example-work 1 a 5 b 3 c")

    run_import(hr, old, "qless")

    assert [job.id for job in hr.queue("example").jobs("waiting").jobs] == ["b", "c", "a"]
    assert job_of(hr, "b").data == {"hello": "how are you"}


@proves("QL-13")
def test_tracked_jobs_stay_tracked(hr: Client, old: Installation) -> None:
    write_queue(old)
    old.write("ZADD ql:tracked 1 held 2 later 3 gone")

    found = run_import(hr, old, "qless")

    assert sorted(job.id for job in hr.tracking.list().jobs) == ["held", "later"]
    assert found.plan.left_out == ["gone: tracked, but the job does not exist"]


def test_job_depends_on_imported_jobs_that_got_new_ids(hr: Client, old: Installation) -> None:
    hr.queue("mine").put(1, id="high")
    write_later(old, "high")
    write_later(old, "child", state="depends")
    write_later(old, "grandchild", state="depends")
    old.run("HSET", b"ql:j:\xff", "state", "waiting", "queue", "example", "data", "1")
    old.run("SADD", "ql:j:child-dependencies", "high", b"\xff")
    old.run("ZADD", "ql:q:example-work", "1", "high", "2", b"\xff")
    old.write("""
        ZADD ql:q:example-depends 1 grandchild 1 child
        SADD ql:j:grandchild-dependencies child high
    """)

    run_import(hr, old, "qless")

    high, odd = (job.id for job in hr.queue("example").jobs("waiting").jobs)
    assert sorted(job_of(hr, "child").depends_on) == sorted([high, odd])
    assert high.startswith("{high}~") or odd.startswith("{high}~")
    assert job_of(hr, "high").dependents == []


def test_dependency_may_be_left_out_or_complete(hr: Client, old: Installation) -> None:
    for name in "ab":
        write_later(old, name)
    write_later(old, "elsewhere", queue="other")
    write_later(old, "child", state="depends")
    old.write("""
        ZADD ql:q:example-work 1 a 2 b
        ZADD ql:q:other-work 1 elsewhere
        ZADD ql:q:example-depends 1 child
        SADD ql:j:child-dependencies a b elsewhere
    """)
    run_import(hr, old, "qless", None, "example")
    assert sorted(job_of(hr, "child").depends_on) == ["a", "b"]
    pop_one(hr.queue("example")).complete()

    run_import(hr, old, "qless", None, "example")


def test_invalid_names_of_other_queues_are_ignored(hr: Client, old: Installation) -> None:
    write_queue(old)
    old.run("ZADD", b"ql:q:\xff-work", "1", "x")

    assert run_import(hr, old, "qless", None, "example").result.imported == 5
    with pytest.raises(ImportRefused, match="choose other queues with --queue"):
        run_import(hr, old, "qless")


def test_invalid_and_huge_numbers_are_clamped(hr: Client, old: Installation) -> None:
    large = "9" * 5000
    write_later(old, "a", retries=large, remaining="10000000", priority="1e400", expires="nan")
    write_later(old, "b", retries="\u00b2", remaining="-3", tags='["' + "x" * 300 + '"]')
    write_job(old, "c", history=f'[["example", {large}, -1, "x", 7], [], 5, {{"q": 3}}]')
    old.write(f"""
        ZADD ql:q:example-work 1 a 2 b 3 c
        ZADD ql:q:example-scheduled inf later
        ZADD ql:q:example-recur 1 r 2 s
        HSET ql:j:later state scheduled queue example data 1
        HSET ql:r:r interval 99999999999 backlog 5000 retries 99999999
        HSET ql:r:s interval {large}
        HSET ql:config heartbeat 0 jobs-history 999999999999 example-heartbeat \u00b2
        HSET ql:config jobs-history-count {large} example-max-concurrency 0
    """)

    found = run_import(hr, old, "qless")

    assert found.plan.counts[("example", "waiting")] == 3
    a = job_of(hr, "a")
    assert (a.retries, a.remaining, a.priority) == (5, 1_000_000, 0)
    assert job_of(hr, "later").due == at(0.001)
    assert hr.config.get("lease") == hr.queue("example").settings()["lease"] == 60
    assert hr.config.get("keep_age") == 100 * 365 * DAY
    schedule = hr.schedules.get("r")
    assert schedule is not None
    assert (schedule.backlog, schedule.options["retries"]) == (1000, 1_000_000)
    assert hr.schedules.get("s") is None
