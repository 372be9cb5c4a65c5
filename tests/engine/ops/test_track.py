"""track, untrack, tracked: whose events are told, and whose ids stay listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headrace import Client, JobNotFound, Put, Queue, TooMany
from headrace.client.talk import ask_one, drive
from headrace.client.talks import tracking
from headrace.client.talks.upkeep import events
from headrace.engine.call import build
from headrace.engine.events import Event, read_told
from headrace.testing import Clock, open_with_clock
from tests.dump import dump
from tests.engine.hearing import Listener, listening
from tests.engine.shortcuts import found, ids, pop_one, wait
from tests.proof import proves


@pytest.fixture
def ear(hr: Client, url: str) -> Iterator[Listener]:
    with listening(hr, url, "tracked:") as listener:
        yield listener


def told(ear: Listener) -> list[Event]:
    return [read_told(0, message) for _, message in ear.heard()]


@proves("QL-13")
def test_a_tracked_job_is_listed_until_it_is_untracked(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    for name in ("b", "a", "c"):
        queue.put(1, id=name)
        assert hr.track(name) == "waiting"
        clock.tick(1)
    assert found(hr, "a").tracked

    hr.cancel("b")
    assert (ids(hr.tracked().jobs), hr.tracked().gone) == (["a", "c"], ["b"])

    for name in ("b", "a", "c"):
        hr.untrack(name)
    assert (hr.tracked().jobs, hr.tracked().gone) == ([], [])
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
    hr.track("x")

    ENDS[end](hr, queue, clock)

    assert hr.job("x") is None
    assert (hr.tracked().jobs, hr.tracked().gone) == ([], ["x"])


@proves("QL-13")
def test_another_job_of_the_same_id_is_not_tracked(hr: Client, queue: Queue, ear: Listener) -> None:
    queue.put(1, id="x")
    hr.track("x")
    hr.cancel("x")
    queue.put(2, id="x")
    queue.put(3, id="x", on_exists="replace")

    assert [event.kind for event in told(ear)] == ["cancelled"]
    assert (hr.tracked().jobs, hr.tracked().gone) == ([], ["x"])

    hr.track("x")
    assert (ids(hr.tracked().jobs), hr.tracked().gone) == (["x"], [])


@proves("QL-13")
def test_everything_that_happens_to_a_tracked_job_is_told_as_it_is_logged(
    hr: Client, queue: Queue, clock: Clock, ear: Listener
) -> None:
    queue.put("x", id="other")
    queue.put("x", id="x", delay=1)
    hr.track("x")
    clock.tick(1)
    hr.prioritise("x", -0.5)
    hr.tag("x", "vip")
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

    heard = told(ear)

    logged = [event for event in hr.events() if event.job_id == "x"]
    assert heard == logged[1:]
    assert [event.kind for event in heard] == [
        *("prioritised", "tagged", "due", "popped", "retried", "popped", "released", "popped"),
        *("failed", "unfailed", "put", "popped", "completed", "popped", "lost", "popped", "lost"),
        *("popped", "completed"),
    ]


@proves("QL-13")
def test_payloads_of_any_bytes_are_told(url: str, hr: Client, ear: Listener) -> None:
    raw, _ = open_with_clock(url, namespace=hr.core.namespace, codec="raw")
    with raw:
        raw.queue("mail").put(b"", id="x")
        raw.track("x")
        for payload in (b"\xff\x00\xc2", b"a" * 40, b"b" * 300, b"c" * 70_000, b""):
            raw.queue("mail").put(payload, id="x", on_exists="replace")

    assert [(event.data, event.left_out) for event in told(ear)] == [
        (b"\xff\x00\xc2", None),
        (b"a" * 40, None),
        (b"b" * 300, None),
        (None, 70_000),
        (b"", None),
    ]


@proves("QL-13")
def test_who_is_not_tracked_any_more_is_not_told_of(
    hr: Client, queue: Queue, ear: Listener
) -> None:
    queue.put(1, id="x")
    hr.track("x")
    hr.untrack("x")

    pop_one(queue).complete()

    assert told(ear) == []


@proves("QL-13")
def test_an_unknown_job_is_not_tracked(hr: Client) -> None:
    before = dump(hr)

    with pytest.raises(JobNotFound):
        hr.track("nobody")
    hr.untrack("nobody")

    assert dump(hr) == before


def test_to_track_again_changes_nothing(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x")
    hr.track("x")
    clock.tick(1)
    before = dump(hr)

    assert hr.track("x") == "waiting"

    assert dump(hr) == before


@proves("QL-13")
def test_a_shard_tracks_so_many_and_no_more(
    hr: Client, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "MOST_TRACKED", 2)
    queue.put_many([Put(1, id=name) for name in "abc"])
    hr.track("a")
    hr.track("b")
    hr.cancel("a")
    before = dump(hr)

    with pytest.raises(TooMany, match="2 of its shard are; untrack some") as refused:
        hr.track("c")

    assert (refused.value.job_id, dump(hr)) == ("c", before)
    assert hr.track("b") == "waiting"
    hr.untrack("a")
    assert hr.track("c") == "waiting"


def test_more_than_a_page_of_tracked_jobs_is_listed(hr: Client, queue: Queue) -> None:
    names = queue.put_many(range(1201))
    for first in range(0, 1201, 250):
        rows = [(name,) for name in names[first : first + 250]]
        drive(hr.core.wire, ask_one(hr.core, 0, build("track", list, rows, most=10_000)))
    hr.cancel(*names[:5])

    assert sorted(ids(hr.tracked().jobs)) == sorted(names[5:])
    assert sorted(hr.tracked().gone) == sorted(names[:5])


def test_the_newest_event_is_known_by_number_and_time(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    def newest() -> list[int]:
        words = ("HMGET", hr.core.key(0, "log"), "number", "stamp")
        [found] = hr.core.wire.send([(0, words)])
        return [int(value or 0) for value in found]

    assert newest() == [0, 0]
    queue.put_many([1, 2])
    last = drive(hr.core.wire, events(hr))[-1]
    assert newest() == [last.number, round(clock.now.timestamp() * 1000)]
