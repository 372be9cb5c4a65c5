"""Runs of schedules: each call creates a bounded number of jobs, in queues of every profile."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest

import headrace
from headrace import Client, Queue
from headrace.engine.call import build
from headrace.engine.settings import PROFILES
from headrace.operations import popping
from headrace.operations.requests import ask_one
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.proof import proves
from tests.support.channels import listening, meanwhile, until_listened_to
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, serve


@proves("QL-12")
@pytest.mark.parametrize("profile", PROFILES)
def test_a_queue_of_any_profile_has_schedules(
    hr: Client, queue: Queue, clock: Clock, profile: str
) -> None:
    queue.configure(profile)
    hr.session("w1", ttl=None).serve("mail")
    queue.schedule("tick", "x" * 2000, every=60)

    assert [(lease.id, lease.data) for lease in queue.pop("w1")] == [("tick-1", "x" * 2000)]
    clock.tick(1)
    queue.put("between")
    clock.tick(59)
    assert "tick-2" in ids(queue.pop("w1", count=5))
    assert hr.audit().problems == []


@proves("QL-12")
def test_waiting_time_counts_from_the_scheduled_time(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.schedule("tick", "x", every=60, delay=10)
    clock.tick(25)

    queue.pop("w")

    assert queue.stats().wait.mean == 15.0
    [popped] = [event for event in hr.events() if event.kind == "popped"]
    assert popped.wait == 15_000


def test_run_that_is_made_too_late_expires(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.schedule("tick", "x", every=60, start_within=20, backlog=1)
    clock.tick(65)

    assert drain(queue) == ["tick-2"]

    assert [event.kind for event in hr.events()] == ["put", "put", "expired", "popped"]
    assert hr.audit().problems == []


def test_schedules_put_jobs_into_a_paused_queue(queue: Queue, clock: Clock) -> None:
    queue.schedule("tick", "x", every=60)
    queue.pause()

    assert queue.pop("w") == []
    clock.tick(60)
    assert ids(queue.peek(9)) == ["tick-1", "tick-2"]
    queue.resume()
    assert serve(queue) == ["tick-1", "tick-2"]


def test_a_call_makes_a_bounded_number_of_jobs(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.schedule("tick", "x", every=1, backlog=None)
    clock.tick(249)
    call = build("prepare_peek", int, queue="mail")

    answers = [drive(hr.core.transport, ask_one(hr.core, 0, call)) for _ in range(3)]

    assert answers == [0, 0, 1]
    assert queue.counts().waiting == 250
    assert hr.audit().problems == []


def test_thousands_of_schedules_can_be_due_at_once(hr: Client, queue: Queue, url: str) -> None:
    names = [f"s{number:03}" for number in range(130)]
    for name in names:
        queue.schedule(name, "x", every=60)
        hr.queue("other").schedule(f"other {name}", "x", every=60)

    with listening(hr, url, "queue:other") as workers:
        hr.sweep()

        assert sum(int(message.split()[1]) for message in workers.messages()) == 130
    assert serve(queue) == [f"{name}-1" for name in names]
    assert hr.queue("other").counts().waiting == 130


def test_schedule_with_a_lost_record_does_not_block_others(hr: Client, queue: Queue) -> None:
    for name in ("a", "b"):
        queue.schedule(name, "x", every=60)
    hr.core.transport.send([(0, ("DEL", hr.core.key(0, "schedule:a")))])

    assert ids(hr.schedules.list()) == ["b"]
    assert serve(queue) == ["b-1"]

    lists = [content for key, content in dump(hr).items() if "}:schedules:" in key]
    assert [len(members) for _, members in lists] == [2, 2]


def test_a_refused_pop_makes_nothing(hr: Client, queue: Queue) -> None:
    queue.configure("task")
    queue.schedule("tick", "x", every=60)
    before = dump(hr)

    with pytest.raises(headrace.SessionRequired):
        queue.pop("w")

    assert dump(hr) == before


def test_calls_change_nothing_before_a_run_is_due(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.schedule("tick", "x", every=60)
    serve(queue)
    clock.tick(59.999)
    before = dump(hr)

    assert (queue.pop("w"), queue.peek(5)) == ([], [])
    hr.sweep()

    assert dump(hr) == before


def test_a_job_that_is_put_again_is_still_of_its_schedule(hr: Client, queue: Queue) -> None:
    queue.schedule("tick", "x", every=60)
    queue.pop("w")[0].complete(next="other")

    assert found(hr, "tick-1").schedule == "tick"


# waiting


@pytest.fixture
def live(url: str) -> headrace.Client:
    """A client on a namespace that uses the server's clock."""
    return headrace.connect(url, namespace=f"live-{uuid4().hex[:12]}")


@proves("QL-12")
def test_waiting_pop_wakes_up_for_the_next_run(live: Client) -> None:
    with live:
        queue = live.queue("mail")
        queue.schedule("tick", "x", every=0.3)
        started = time.monotonic()

        popped = [ids(queue.pop("w", wait=30)) for _ in range(3)]

        assert popped == [["tick-1"], ["tick-2"], ["tick-3"]]
        assert 0.5 < time.monotonic() - started < popping.SAFETY_POLL


def test_a_waiting_pop_learns_of_a_new_schedule(live: Client) -> None:
    with live:
        queue = live.queue("mail")
        with meanwhile(lambda: ids(queue.pop("w", wait=30))) as popped:
            until_listened_to(live, "queue:mail")
            started = time.monotonic()
            queue.schedule("tick", "x", every=60, delay=0.2)

            assert popped.result(timeout=30) == ["tick-1"]
            assert time.monotonic() - started < popping.SAFETY_POLL / 2


# combined with other features of a queue


@proves("QL-12")
def test_unique_schedule_skips_runs_until_its_job_is_finished(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.schedule("tick", "x", every=60, unique=True)
    assert ids(queue.peek(9)) == ["tick-1"]
    clock.tick(60)
    assert ids(queue.peek(9)) == ["tick-1"]
    assert serve(queue) == ["tick-1"]
    clock.tick(60)

    assert serve(queue) == ["tick-2"]

    found_one = hr.schedules.get("tick")
    assert found_one is not None
    assert (found_one.made, found_one.skipped, found_one.counter) == (2, 1, 2)


def test_schedule_shares_unique_values_with_other_jobs(queue: Queue, clock: Clock) -> None:
    queue.put("x", id="by hand", unique="report")
    queue.schedule("tick", "x", every=60, unique="report")
    queue.schedule("tock", "x", every=60, unique="report")

    assert serve(queue) == ["by hand"]
    clock.tick(60)
    assert serve(queue) == ["tick-1"]


def test_the_jobs_of_a_schedule_keep_to_the_limits_of_their_key(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(key_concurrency=1, fair=True)
    queue.schedule("tick", "x", every=60, key="acme", backlog=2)
    clock.tick(120)

    [first] = queue.pop("w", count=9, lease=600)

    assert (first.id, queue.pop("w", count=9)) == ("tick-1", [])
    first.complete()
    assert ids(queue.pop("w", count=9)) == ["tick-2"]
    assert queue.stats().wait.mean == (120 + 60) / 2
    assert hr.audit().problems == []
