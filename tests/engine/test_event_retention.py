"""The event log stays within its limits on age and number, and counts dropped events."""

from __future__ import annotations

from datetime import timedelta

from headrace import Client, Queue
from headrace.testing import Clock
from tests.engine.support.lake_marks import PIECE, SLACK
from tests.support.dump import dump


def kept(hr: Client) -> list[int]:
    """Return the numbers of the remaining events."""
    return [event.number for event in hr.events()]


def dropped(hr: Client) -> int:
    [about] = [dict(value) for key, (_, value) in dump(hr).items() if key.endswith("}:log")]
    return int(about.get(b"trimmed", 0))


def test_old_events_are_trimmed_and_counted(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many(range(3000))
    clock.tick(timedelta(days=7, milliseconds=1))
    queue.put_many(range(600))

    assert 3000 - PIECE <= dropped(hr) <= 3000
    assert kept(hr) == list(range(dropped(hr) + 1, 3601))


def test_recent_events_are_not_trimmed(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many(range(3000))
    clock.tick(timedelta(days=7))
    queue.put_many(range(600))
    hr.sweep()

    assert (dropped(hr), kept(hr)) == (0, list(range(1, 3601)))


def test_idle_log_is_trimmed_too(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many(range(3000))
    clock.tick(timedelta(days=7, milliseconds=1))

    hr.sweep()

    assert dropped(hr) >= 3000 - PIECE
    assert kept(hr) == list(range(dropped(hr) + 1, 3001))


def test_too_many_events_are_cut_to_their_number(hr: Client, queue: Queue) -> None:
    hr.config.set("events_count", 1000)

    queue.put_many(range(5000))

    assert 1000 <= len(kept(hr)) <= 1000 + SLACK
    assert kept(hr) == list(range(dropped(hr) + 1, 5002))


def test_empty_log_continues_with_the_next_number(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many(range(3000))
    clock.tick(timedelta(days=8))
    hr.sweep()

    queue.put(1)

    assert kept(hr)[-1] == 3001


def test_events_age_applies_if_the_first_event_took_the_short_path(
    hr: Client, clock: Clock
) -> None:
    hr.queue("mail").configure(retries=1)
    hr.queue("mail").put(1)
    clock.tick(8 * 86_400)
    hr.sweep()

    assert list(hr.events()) == []
