"""seek_events: finds the log entries of events by number."""

from __future__ import annotations

from headrace import Client, Queue
from headrace.engine.call import build
from headrace.operations.event_log import seek_entries
from headrace.operations.requests import ask_one
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.engine.support.lake_marks import present


def seek(hr: Client, *numbers: int) -> list[str]:
    return drive(hr.core.transport, seek_entries(hr.core, {0: numbers}))[0]


def test_seek_in_an_empty_log_returns_nothing(hr: Client) -> None:
    assert seek(hr, 1, 5) == []


def test_every_event_is_found(hr: Client, queue: Queue, clock: Clock) -> None:
    for pause in (0, 0.001, 0, 5, 86400, 0.002, 0):
        clock.tick(pause)
        queue.put_many(range(37))
    entries = [event.entry_id for event in hr.events()]
    assert seek(hr, *range(1, 260)) == entries


def test_number_outside_the_log_finds_its_nearest_end(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put_many(range(3000))
    clock.tick(8 * 86400)
    queue.put_many(range(300))
    clock.tick(1)
    queue.put(1)
    there = present(hr)
    assert there.start > 1
    entries = [event.entry_id for event in hr.events()]
    assert seek(hr, 0, 1, there.start, 3301, 3302, 10**9) == [entries[0]] * 3 + [entries[-1]] * 3


def test_first_and_last_entry_are_returned(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1)
    clock.tick(3)
    queue.put(2)
    ends = [event.entry_id.encode() for event in hr.events()]
    assert drive(hr.core.transport, ask_one(hr.core, 0, build("seek_events", list))) == ends


def test_seek_finds_events_after_the_clock_was_set_back(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put_many(range(5))
    clock.tick(-3600)
    queue.put_many(range(5))
    assert seek(hr, *range(1, 11)) == [event.entry_id for event in hr.events()]
