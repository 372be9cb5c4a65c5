"""Checks of log trimming: only the cap drops events that a lake lacks, and they are counted."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from headrace import Client, LakeRefused
from headrace.testing import Clock
from tests.engine.support.lake_marks import (
    PIECE,
    SLACK,
    entry_of,
    log_of,
    mark,
    mark_number,
    present,
)
from tests.model.harness import opened


@dataclass
class Ledger:
    """The expected state of the log after each step, derived from the state before."""

    hr: Client
    clock: Clock
    count: int = 1_000_000
    cap: int = 5_000_000
    marks: dict[str, int] = field(default_factory=dict)
    dropped: int = 0

    def put(self, count: int) -> None:
        before = present(self.hr)
        self.hr.queue("mail").put_many(range(count))
        self.check(before)

    def tick(self, seconds: float) -> None:
        before = present(self.hr)
        self.clock.tick(seconds)
        self.hr.sweep()
        self.check(before)

    def mark(self, lake: str, share: float) -> None:
        """Mark an event that is still in the log, or none."""
        before = present(self.hr)
        number = before.start - 1 + round(share * len(before))
        if before.start > 1 and number < before.start:
            return
        mark_number(self.hr, lake, number)
        self.marks[lake] = max(number, self.marks.get(lake, 0))
        self.check(before)

    def forget(self, lake: str) -> None:
        before = present(self.hr)
        assert self.hr.lakes.forget(lake) == (self.marks.pop(lake, None) is not None)
        self.check(before)

    def limit(self, name: str, value: int) -> None:
        self.hr.config.set(name, value)
        if name == "events_count":
            self.count = value
        elif name == "events_cap":
            self.cap = value

    def check(self, before: range) -> None:
        """Raise if too many events were dropped, or if dropped events are not counted."""
        there = present(self.hr)
        lacking = there.start - max(before.start, self.lowest + 1) if self.marks else 0
        if lacking > 0:
            self.dropped += lacking
            assert len(there) >= max(self.cap, self.count)
        assert log_of(self.hr).dropped == self.dropped

    def check_size(self) -> None:
        """Raise if the log keeps more events than its limits and lakes require."""
        self.put(SLACK)
        for _ in range(5):
            self.hr.sweep()
        there = present(self.hr)
        lacking = there.stop - 1 - self.lowest if self.marks else 0
        most = max(self.count, min(lacking, max(self.count, self.cap)))
        assert len(there) <= most + SLACK

    @property
    def lowest(self) -> int:
        return min(self.marks.values())


def log_is_trimmed_by_marks(url: str, swaps: dict[str, str]) -> None:
    """Raise if an event that a lake lacks is dropped, or an event that no lake lacks is kept."""
    hr, clock = opened(url, swaps)
    with hr:
        ledger = Ledger(hr, clock)
        _by_age_and_force(ledger)
        _by_number(ledger)
        _much_at_once(ledger)
        _without_lakes(ledger)


def marks_belong_to_the_log(url: str, swaps: dict[str, str]) -> None:
    """Raise if a mark decreases, a foreign entry is accepted, or an event is not found."""
    hr, clock = opened(url, swaps)
    with hr:
        for _ in range(3):
            hr.queue("mail").put_many(range(3))
            clock.tick(1)
        entries = [event.entry_id for event in hr.events()]
        assert [entry_of(hr, number) for number in range(1, 10)] == entries
        mark(hr, "a", entries[5])
        mark(hr, "a", entries[3])
        assert hr.lakes.list()[0].entry == entries[5]
        ms, _, number = entries[-1].partition("-")
        with pytest.raises(LakeRefused, match="the newest event on the server is"):
            mark(hr, "a", f"{ms}-{int(number) + 1}")
        with pytest.raises(LakeRefused, match="which was never"):
            mark(hr, "a", f"{int(ms) - 1}-{number}")


def _by_age_and_force(ledger: Ledger) -> None:
    ledger.limit("events_count", 400)
    ledger.limit("events_cap", 1500)
    ledger.limit("events_age", 60)
    ledger.mark("a", 0)
    ledger.mark("b", 0)
    ledger.put(700)
    ledger.mark("b", 1)
    ledger.tick(61)
    ledger.mark("a", 0.5)
    ledger.put(300)
    ledger.clock.tick(100)
    ledger.put(300)
    ledger.mark("a", 0.5)
    ledger.put(4000)
    ledger.check_size()
    assert ledger.dropped > 0


def _by_number(ledger: Ledger) -> None:
    ledger.limit("events_age", 10**6)
    ledger.limit("events_cap", 300)
    ledger.mark("a", 1)
    ledger.mark("b", 1)
    ledger.put(350)
    assert len(present(ledger.hr)) >= 350
    ledger.limit("events_cap", 10**6)
    ledger.put(1000)
    ledger.mark("a", 0.3)
    ledger.mark("b", 1)
    assert ledger.lowest - present(ledger.hr).start < PIECE
    ledger.check_size()


def _much_at_once(ledger: Ledger) -> None:
    ledger.put(12_000)
    ledger.mark("a", 1)
    ledger.mark("b", 1)
    ledger.hr.sweep()
    assert len(present(ledger.hr)) <= ledger.count + SLACK


def _without_lakes(ledger: Ledger) -> None:
    ledger.put(1000)
    ledger.forget("a")
    ledger.forget("b")
    assert len(present(ledger.hr)) <= ledger.count + PIECE
    ledger.limit("events_age", 60)
    ledger.put(SLACK)
    ledger.tick(0)
    ledger.clock.tick(61)
    ledger.put(300)
    assert len(present(ledger.hr)) <= 300 + SLACK
