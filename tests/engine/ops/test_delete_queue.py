"""delete_queue: deletes everything of a queue and notifies its workers and listeners."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import Client, JobNotFound, Queue, QueueNotFound
from headrace.engine.check import Limits
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump
from tests.support.jobs import pop_one

# A namespace keeps these records of the past independently of its queues.
KEPT = {"events", "log", "meta", "clock", "events:"}


def left_behind(hr: Client) -> set[str]:
    """Return the keys and agenda entries that belong to queues."""
    found: set[str] = set()
    for key, (_, value) in dump(hr).items():
        name = key.split("}:")[1]
        found |= {entry.decode() for entry in value[::2]} if name == "agenda" else {name}
    return found - KEPT


def fill(hr: Client, queue: Queue) -> None:
    """Give the queue a job in every state, large and small, with a result and with statistics."""
    for data in ("small", "x" * 5000):
        queue.put(data)
        pop_one(queue).complete("result of " + data)
        queue.put(data)
        lease = pop_one(queue)
        lease.progress(0.5, "half")
        lease.log("a line")
        lease.fail("no ink")
        queue.put(data)
        lease = pop_one(queue)
        lease.progress(0.5, "half")
        lease.log("a line")
        queue.put(data, delay=60, start_within=90)
        queue.put(data, start_within=90)
    assert hr.audit().balanced


@proves("TD-11")
@pytest.mark.parametrize("profile", ["job", "manual", "ring", "fifo"])
def test_no_key_of_a_deleted_queue_remains(hr: Client, queue: Queue, profile: str) -> None:
    queue.configure(profile=profile)
    if profile == "fifo":
        queue.put_many(["small", "x" * 5000], start_within=90)
        queue.pop("w")
    else:
        fill(hr, queue)

    queue.delete()

    assert left_behind(hr) == set()


@proves("TD-11")
def test_no_key_of_a_deleted_queue_with_sessions_remains(hr: Client, queue: Queue) -> None:
    queue.configure(profile="task")
    session = hr.session("w1")
    session.serve("mail")
    fill(hr, queue)

    queue.delete()
    session.end()

    assert left_behind(hr) == set()


@proves("TD-11")
def test_statistics_of_all_days_are_deleted_with_the_queue(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    for _ in range(3):
        fill(hr, queue)
        clock.tick(timedelta(days=3))

    queue.delete()

    assert left_behind(hr) == set()
    assert queue.stats().run.count == 0


@proves("TD-11")
@pytest.mark.parametrize("keep_count", [0, 1, 50_000])
def test_results_are_deleted_with_their_queue(hr: Client, queue: Queue, keep_count: int) -> None:
    queue.configure(keep_count=keep_count)
    ids = queue.put_many(range(5))
    hr.leases.complete(queue.pop("w", count=5), results=range(5))

    queue.delete()

    assert left_behind(hr) == set()
    for job_id in ids:
        with pytest.raises(JobNotFound):
            hr.result(job_id)


@proves("TD-11")
def test_large_queue_is_deleted_in_several_steps(hr: Client, queue: Queue) -> None:
    queue.put_many(range(1100))
    hr.leases.complete(queue.pop("w", count=500), results=range(500))
    queue.pop("w", count=100)

    queue.delete()

    assert left_behind(hr) == set()
    assert hr.queues() == {}


def test_other_queues_are_left_alone(hr: Client, queue: Queue) -> None:
    other = hr.queue("mail:box")
    fill(hr, other)
    before = {key: value for key, value in dump(hr).items() if "}:log" not in key}
    fill(hr, queue)

    queue.delete()

    events = hr.core.key(0, "events")
    after = {key: value for key, value in dump(hr).items() if key in before}
    assert {**after, events: None} == {**before, events: None}
    assert list(hr.queues()) == ["mail:box"]
    assert hr.audit().balanced


@proves("W-23")
def test_deletion_notifies_the_queue_and_its_workers(hr: Client, queue: Queue, url: str) -> None:
    queue.put("x")
    lease = pop_one(queue, "w")
    with (
        listening(hr, url, "queue:mail") as workers,
        listening(hr, url, "worker:w") as holder,
    ):
        queue.delete()

        assert workers.messages() == ["deleted"]
        assert holder.told() == [["cancelled", lease.id, lease.token]]
    with pytest.raises(JobNotFound):
        lease.complete()


@proves("W-23")
def test_put_creates_a_deleted_queue_again(hr: Client, queue: Queue) -> None:
    queue.configure(profile="ring", lease=7)
    queue.put("old")
    queue.delete()

    job_id = queue.put("new")

    assert pop_one(queue).id == job_id
    assert queue.settings()["lease"] == 60
    assert hr.audit().balanced


def test_a_queue_that_does_not_exist_cannot_be_deleted(hr: Client, queue: Queue) -> None:
    queue.put("x")
    queue.delete()
    before = dump(hr)

    for name in ("mail", "bogus"):
        with pytest.raises(QueueNotFound):
            hr.queue(name).delete()

    assert dump(hr) == before


@proves("TD-11")
def test_queue_is_deleted_on_every_shard(url: str) -> None:
    hr, _ = open_with_clock(url, shards=3, limits=Limits(batch=7))
    with hr:
        queue = hr.queue("mail")
        queue.put_many(range(30))
        hr.leases.complete(queue.pop("w", count=10), results=range(10))
        hr.finish(queue.pop("w")[0].id, "done")

        queue.delete()

        assert left_behind(hr) == set()
