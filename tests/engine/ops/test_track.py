"""track, untrack, tracked: events of tracked jobs are published, and their ids are listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headrace import Client, JobNotFound, Put, Queue, TooMany
from headrace.engine.call import build
from headrace.engine.events import Event, read_published_event
from headrace.operations import tracking
from headrace.operations.event_log import events
from headrace.operations.requests import ask_one
from headrace.testing import Clock, open_with_clock
from headrace.transport.drive import drive
from tests.proof import proves
from tests.support.channels import Listener, listening
from tests.support.dump import dump
from tests.support.jobs import found, ids, pop_one, wait


@pytest.fixture
def subscription(hr: Client, url: str) -> Iterator[Listener]:
    with listening(hr, url, "tracked:") as listener:
        yield listener


def told(subscription: Listener) -> list[Event]:
    return [read_published_event(0, message) for _, message in subscription.heard()]


@proves("QL-13")
def test_a_tracked_job_is_listed_until_it_is_untracked(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    for name in ("b", "a", "c"):
        queue.put(1, id=name)
        assert hr.tracking.add(name) == "waiting"
        clock.tick(1)
    assert found(hr, "a").tracked

    hr.cancel("b")
    assert (ids(hr.tracking.list().jobs), hr.tracking.list().gone) == (["a", "c"], ["b"])

    for name in ("b", "a", "c"):
        hr.tracking.remove(name)
    assert (hr.tracking.list().jobs, hr.tracking.list().gone) == ([], [])
    assert not found(hr, "a").tracked
    assert not [key for key in dump(hr) if key.endswith(":tracked")]


ENDS: dict[str, Callable[[Client, Queue, Clock], object]] = {
    "cancelled": lambda hr, _queue, _clock: hr.cancel("x"),
    "expired": lambda hr, _queue, clock: (wait(clock, 60), hr.sweep()),
    "deleted": lambda _hr, queue, _clock: queue.delete(),
    "popped for good": lambda _hr, queue, _clock: (queue.configure("fifo"), queue.pop("w")),
    "no longer kept": lambda hr, queue, clock: (
        pop_one(queue).complete(),
        wait(clock, 7 * 86_400),
        hr.sweep(),
    ),
}


@proves("QL-13")
@pytest.mark.parametrize("end", ENDS)
def test_a_tracked_id_outlives_its_job(hr: Client, queue: Queue, clock: Clock, end: str) -> None:
    queue.put(1, id="x", start_within=60)
    hr.tracking.add("x")

    ENDS[end](hr, queue, clock)

    assert hr.job("x") is None
    assert (hr.tracking.list().jobs, hr.tracking.list().gone) == ([], ["x"])


@proves("QL-13")
def test_another_job_of_the_same_id_is_not_tracked(
    hr: Client, queue: Queue, subscription: Listener
) -> None:
    queue.put(1, id="x")
    hr.tracking.add("x")
    hr.cancel("x")
    queue.put(2, id="x")
    queue.put(3, id="x", on_exists="replace")

    assert [event.kind for event in told(subscription)] == ["cancelled"]
    assert (hr.tracking.list().jobs, hr.tracking.list().gone) == ([], ["x"])

    hr.tracking.add("x")
    assert (ids(hr.tracking.list().jobs), hr.tracking.list().gone) == (["x"], [])


@proves("QL-13")
def test_tracked_job_publishes_every_event_as_logged(
    hr: Client, queue: Queue, clock: Clock, subscription: Listener
) -> None:
    queue.put("x", id="other")
    queue.put("x", id="x", delay=1)
    hr.tracking.add("x")
    clock.tick(1)
    hr.prioritise("x", -0.5)
    hr.tags.add("x", "vip")
    lease = pop_one(queue)
    clock.tick(-0.25)
    lease.fail("io", "no route", retry_in=0)
    pop_one(queue).release()
    pop_one(queue).fail("io", "ä")
    hr.retry("x")
    queue.put("y" * 3000, id="x", on_exists="replace", tags=["a"])
    pop_one(queue).complete(next="archive")
    hr.queue("archive").pop("w", lease=0)
    hr.queue("archive").pop("w")
    hr.timeout("x")
    pop_one(hr.queue("archive")).complete("done")

    heard = told(subscription)

    logged = [event for event in hr.events() if event.job_id == "x"]
    assert heard == [event for event in logged[1:] if event.kind != "tracked"]
    assert [event.kind for event in heard] == [
        *("prioritised", "tagged", "due", "popped", "retried", "popped", "released", "popped"),
        *("failed", "unfailed", "put", "popped", "completed", "popped", "lost", "popped", "lost"),
        *("popped", "completed"),
    ]


@proves("QL-13")
def test_payloads_of_any_bytes_are_published(url: str, hr: Client, subscription: Listener) -> None:
    raw, _ = open_with_clock(url, namespace=hr.core.namespace, codec="raw")
    with raw:
        raw.queue("mail").put(b"", id="x")
        raw.tracking.add("x")
        for payload in (b"\xff\x00\xc2", b"a" * 40, b"b" * 300, b"c" * 70_000, b""):
            raw.queue("mail").put(payload, id="x", on_exists="replace")

    assert [(event.data, event.left_out) for event in told(subscription)] == [
        (b"\xff\x00\xc2", None),
        (b"a" * 40, None),
        (b"b" * 300, None),
        (None, 70_000),
        (b"", None),
    ]


@proves("QL-13")
def test_untracked_job_publishes_nothing(hr: Client, queue: Queue, subscription: Listener) -> None:
    queue.put(1, id="x")
    hr.tracking.add("x")
    hr.tracking.remove("x")

    pop_one(queue).complete()

    assert told(subscription) == []


@proves("QL-13")
def test_an_unknown_job_is_not_tracked(hr: Client) -> None:
    before = dump(hr)

    with pytest.raises(JobNotFound):
        hr.tracking.add("nobody")
    hr.tracking.remove("nobody")

    assert dump(hr) == before


def test_tracking_a_job_again_changes_nothing(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    hr.tracking.add("x")
    clock.tick(1)
    before = dump(hr)

    assert hr.tracking.add("x") == "waiting"

    assert dump(hr) == before


@proves("QL-13")
def test_number_of_tracked_jobs_per_shard_is_limited(
    hr: Client, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "MOST_TRACKED", 2)
    queue.put_many([Put(1, id=name) for name in "abc"])
    hr.tracking.add("a")
    hr.tracking.add("b")
    hr.cancel("a")
    before = dump(hr)

    with pytest.raises(
        TooMany, match="its shard has 2 tracked jobs, the limit; untrack some jobs"
    ) as refused:
        hr.tracking.add("c")

    assert (refused.value.job_id, dump(hr)) == ("c", before)
    assert hr.tracking.add("b") == "waiting"
    hr.tracking.remove("a")
    assert hr.tracking.add("c") == "waiting"


def test_more_than_a_page_of_tracked_jobs_is_listed(hr: Client, queue: Queue) -> None:
    names = queue.put_many(range(1201))
    for first in range(0, 1201, 250):
        rows = [(name,) for name in names[first : first + 250]]
        drive(
            hr.core.transport,
            ask_one(hr.core, 0, build("track", list, rows, most=10_000, actor="ada")),
        )
    hr.cancel(*names[:5])

    assert sorted(ids(hr.tracking.list().jobs)) == sorted(names[5:])
    assert sorted(hr.tracking.list().gone) == sorted(names[:5])


def test_log_key_has_number_and_time_of_the_newest_event(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    def newest() -> list[int]:
        words = ("HMGET", hr.core.key(0, "log"), "number", "stamp")
        [found] = hr.core.transport.send([(0, words)])
        return [int(value or 0) for value in found]

    assert newest() == [0, 0]
    queue.put_many([1, 2])
    last = drive(hr.core.transport, events(hr))[-1]
    assert newest() == [last.number, round(clock.now.timestamp() * 1000)]


@proves("QL-13", "QL-14")
def test_tracking_is_logged_with_its_actor(url: str) -> None:
    client, _ = open_with_clock(url, actor="ada")
    with client:
        client.queue("mail").put(1, id="x", priority=3)
        client.tracking.add("x")
        client.tracking.add("x")
        client.tracking.remove("x")
        client.tracking.remove("x")
        client.tracking.add("x")
        client.cancel("x")
        client.tracking.remove("x")

        told = [event for event in client.events() if event.kind not in ("put", "cancelled")]

    assert [(event.kind, event.job_id, event.queue, event.actor) for event in told] == [
        ("tracked", "x", "mail", "ada"),
        ("untracked", "x", "mail", "ada"),
        ("tracked", "x", "mail", "ada"),
        ("untracked", "x", "", "ada"),
    ]
    assert [event.priority for event in told] == [3, 3, 3, 0]
