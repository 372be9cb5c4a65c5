"""cancel_matching: cancel all jobs of a queue that have the same data."""

from __future__ import annotations

import pytest

from headrace import Client, InvalidArgument, JobNotFound, Queue
from headrace.testing import open_with_clock
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump
from tests.support.jobs import found, ids, pop_one

LARGE = "x" * 5000
INLINE = 1024
IN_EVENTS = 16_384


@proves("W-19")
@pytest.mark.parametrize("data", ["call ada", LARGE])
def test_every_job_with_these_data_is_cancelled_and_no_other(
    hr: Client, queue: Queue, data: str
) -> None:
    mine = queue.put_many([data] * 3)
    kept = queue.put("call bob")
    elsewhere = hr.queue("other").put(data)
    mine.append(queue.put(data, delay=60, start_within=90))

    assert sorted(hr.queue("mail").cancel_matching(data)) == sorted(mine)

    assert ids(queue.pop("w", count=9)) == [kept]
    assert found(hr, elsewhere).state == "waiting"
    cancelled = [event for event in hr.events() if event.kind == "cancelled"]
    assert {event.job_id for event in cancelled} == set(mine)
    assert {event.reason for event in cancelled} == {"matching"}
    assert {event.was for event in cancelled} == {"waiting", "scheduled"}
    assert hr.audit().problems == []


@proves("W-20", "WD-10")
def test_running_job_is_cancelled_and_its_worker_notified(
    hr: Client, queue: Queue, url: str
) -> None:
    queue.put("call ada")
    lease = pop_one(queue, "w")
    with listening(hr, url, "worker:w") as holder:
        assert hr.queue("mail").cancel_matching("call ada") == [lease.id]

        assert holder.told() == [["cancelled", lease.id, lease.token]]
    with pytest.raises(JobNotFound):
        lease.release()
    assert (queue.length(), hr.audit().problems) == (0, [])


@proves("W-19")
@pytest.mark.parametrize("size", [0, INLINE, IN_EVENTS, IN_EVENTS + 1])
def test_queue_channel_reports_the_cancelled_data(url: str, size: int) -> None:
    hr, _ = open_with_clock(url, codec="raw")
    with hr, listening(hr, url, "queue:mail") as waiters:
        hr.queue("mail").put_many([b"\xff" * size] * 2)
        assert waiters.heard() == [("queue:mail", b"work 2")]

        hr.queue("mail").cancel_matching(b"\xff" * size)

        said = b"cancelled" if size > IN_EVENTS else b"cancelled " + b"\xff" * size
        assert waiters.heard() == [("queue:mail", said)]


@proves("W-19")
def test_up_to_a_thousand_jobs_are_cancelled_in_one_step(
    hr: Client, queue: Queue, url: str
) -> None:
    names = queue.put_many(["same"] * 1000)
    with listening(hr, url, "ended:") as listener:
        assert hr.queue("mail").cancel_matching("same") == names

        [told_at_once] = listener.told()
    assert told_at_once == names
    assert (queue.length(), hr.audit().problems) == (0, [])


@proves("W-19")
def test_more_jobs_are_cancelled_in_several_steps(hr: Client, queue: Queue) -> None:
    names = queue.put_many(["same", "other", "same"] * 1100)
    queue.pop("w", count=150)

    cancelled = hr.queue("mail").cancel_matching("same")

    assert sorted(cancelled) == sorted(set(names) - set(names[1::3]))
    assert (queue.length(), hr.audit().problems) == (1100, [])


@proves("WD-13")
def test_one_of_several_can_be_cancelled_by_its_id(hr: Client, queue: Queue) -> None:
    first, second = queue.put_many(["same", "same"])

    assert hr.cancel(first) == [first]

    assert hr.queue("mail").matching("same") == {second: "waiting"}


def test_jobs_that_a_limit_holds_up_are_cancelled_too(hr: Client, queue: Queue) -> None:
    queue.configure(key_concurrency=1)
    mine = queue.put_many(["same"] * 3, key="acme") + queue.put_many(["same"] * 2, key="other")
    kept = queue.put("call bob", key="acme")
    assert len(queue.pop("w", count=9)) == 2

    assert sorted(hr.queue("mail").cancel_matching("same")) == sorted(mine)

    assert ids(queue.pop("w", count=9)) == [kept]
    assert hr.audit().problems == []


@pytest.mark.parametrize(
    ("policy", "state"),
    [("wait", "failed"), ("run", "waiting"), ("cancel", "gone"), ("fail", "failed")],
)
def test_jobs_that_wait_for_each_other_are_cancelled_together(
    hr: Client, queue: Queue, policy: str, state: str
) -> None:
    queue.put("same", id="first")
    for job_id, data, on in (("next", "same", "first"), ("last", "other", "next")):
        queue.put(data, id=job_id, depends_on=[on], if_dependency_fails=policy)
    assert hr.queue("mail").matching("same") == {"next": "blocked", "first": "waiting"}

    assert hr.queue("mail").cancel_matching("same") == ["next", "first"]

    last = hr.job("last")
    assert (last.state if last else "gone") == state
    assert hr.audit().problems == []


def test_failed_and_complete_jobs_are_not_cancelled(hr: Client, queue: Queue) -> None:
    queue.put_many(["same", "same"])
    complete, failed = queue.pop("w", count=2)
    complete.complete()
    failed.fail("io")
    before = dump(hr)

    assert hr.queue("mail").cancel_matching("same") == []

    assert dump(hr) == before


@pytest.mark.parametrize("name", ["mail", "nothing"])
def test_no_match_changes_and_publishes_nothing(
    hr: Client, queue: Queue, url: str, name: str
) -> None:
    queue.put("same")
    before = dump(hr)
    with listening(hr, url, f"queue:{name}", "ended:") as listener:
        assert hr.queue(name).cancel_matching("other") == []

        assert listener.heard() == []
    assert dump(hr) == before


def test_bad_input_is_refused_before_anything_is_cancelled(hr: Client, queue: Queue) -> None:
    queue.put("same")
    before = dump(hr)

    for name, data in (("", "same"), ("mail", object())):
        with pytest.raises(InvalidArgument):
            hr.queue(name).cancel_matching(data)

    assert dump(hr) == before
