"""mark_lake, forget_lake, lakes: the newest event of a shard that a lake has stored."""

from __future__ import annotations

import pytest

from headrace import Client, LakeRefused, LakeShard, Queue
from headrace.testing import Clock, open_with_clock
from tests.engine.support.lake_marks import (
    PIECE,
    SLACK,
    entry_of,
    length,
    log_of,
    mark,
    mark_number,
    present,
)
from tests.support.dump import dump


def test_lake_is_listed_after_its_first_mark(hr: Client, queue: Queue) -> None:
    assert hr.lakes.list() == []
    mark(hr, "a", "0-0")
    queue.put_many(range(5))
    mark_number(hr, "b", 3)
    assert hr.lakes.list() == [
        LakeShard("a", 0, "0-0", behind=5, trimmed=0, dropped=0),
        LakeShard("b", 0, entry_of(hr, 3), behind=2, trimmed=0, dropped=0),
    ]


def test_mark_never_decreases(hr: Client, queue: Queue) -> None:
    queue.put_many(range(5))
    mark_number(hr, "a", 4)
    before = dump(hr)
    for number in (4, 3, 0):
        mark_number(hr, "a", number)
    assert dump(hr) == before


def test_each_shard_has_its_marks(url: str) -> None:
    hr, _ = open_with_clock(url, shards=2)
    with hr:
        hr.queue("mail").put_many(range(20))
        mark(hr, "a", "0-0", shard=1)
        [row] = hr.lakes.list()
        assert (row.lake, row.shard) == ("a", 1)
        assert hr.lakes.forget("a")
        assert hr.lakes.list() == []


def test_a_lake_that_is_ahead_of_the_log_is_refused(hr: Client, queue: Queue) -> None:
    queue.put_many(range(5))
    stamp = entry_of(hr, 5).partition("-")[0]
    before = dump(hr)
    with pytest.raises(
        LakeRefused, match=r"the newest event on the server is number 5: this is another"
    ):
        mark(hr, "a", f"{stamp}-6")
    assert dump(hr) == before


@pytest.mark.parametrize(("number", "late"), [(3, 1), (3, -1), (5, 1), (5, -1)])
def test_entry_that_never_existed_is_refused(
    hr: Client, queue: Queue, number: int, late: int
) -> None:
    queue.put_many(range(5))
    stamp = int(entry_of(hr, 5).partition("-")[0])
    before = dump(hr)
    with pytest.raises(LakeRefused, match="which was never in the log"):
        mark(hr, "a", f"{stamp + late}-{number}")
    assert dump(hr) == before


def test_mark_of_a_trimmed_log_accepts_a_trimmed_entry(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put_many(range(3000))
    old = entry_of(hr, 10)
    clock.tick(8 * 86400)
    queue.put_many(range(300))
    oldest_ms = int(entry_of(hr, present(hr).start).partition("-")[0])
    with pytest.raises(LakeRefused, match="which was never in the log"):
        mark(hr, "a", f"{oldest_ms + 1}-10")
    mark(hr, "a", old)
    assert hr.lakes.list()[0].entry == old


def test_mark_of_an_empty_log_accepts_only_its_newest_entry(hr: Client, queue: Queue) -> None:
    queue.put_many(range(5))
    newest = log_of(hr).newest
    hr.core.transport.send([(0, ("XTRIM", hr.core.key(0, "events"), "MAXLEN", 0))])
    assert (length(hr), log_of(hr).oldest, log_of(hr).newest) == (0, None, newest)
    stamp = int(newest.partition("-")[0])
    for wrong in (f"{stamp - 1}-5", f"{stamp + 1}-4"):
        with pytest.raises(LakeRefused, match="which was never in the log"):
            mark(hr, "a", wrong)
    mark(hr, "a", newest)
    assert hr.lakes.list()[0].behind == 0


def test_number_of_lakes_is_limited(hr: Client) -> None:
    for number in range(64):
        mark(hr, f"lake {number}", "0-0")
    with pytest.raises(
        LakeRefused, match="already has 64 lakes: remove one with headrace lake forget"
    ):
        mark(hr, "one more", "0-0")
    mark(hr, "lake 7", "0-0")
    hr.lakes.forget("lake 7")
    mark(hr, "one more", "0-0")
    assert len(hr.lakes.list()) == 64


def test_events_that_a_lake_lacks_are_kept(hr: Client, queue: Queue, clock: Clock) -> None:
    mark(hr, "a", "0-0")
    hr.config.set("events_count", 300)
    hr.config.set("events_age", 60)
    queue.put_many(range(2000))
    clock.tick(61)
    queue.put_many(range(500))
    hr.sweep()
    # Each changed setting is an event, too.
    assert present(hr) == range(1, 2503)

    mark_number(hr, "a", 1000)
    assert 1000 - PIECE <= present(hr).start <= 1001


def test_slowest_lake_decides_what_is_trimmed(hr: Client, queue: Queue) -> None:
    hr.config.set("events_count", 300)
    for lake in "abc":
        mark(hr, lake, "0-0")
    queue.put_many(range(2000))
    mark_number(hr, "a", 2000)
    mark_number(hr, "c", 1500)
    assert present(hr).start == 1
    mark_number(hr, "b", 700)
    assert 700 - PIECE <= present(hr).start <= 701
    assert hr.lakes.forget("b")
    assert 1500 - PIECE <= present(hr).start <= 1501
    assert not hr.lakes.forget("b")


def test_log_without_lakes_is_trimmed_as_before(hr: Client, queue: Queue) -> None:
    hr.config.set("events_count", 300)
    mark(hr, "a", "0-0")
    queue.put_many(range(2000))
    assert length(hr) == 2001
    hr.lakes.forget("a")
    assert 300 <= length(hr) <= 300 + PIECE


def test_cap_is_enforced_and_lost_events_are_counted(hr: Client, queue: Queue) -> None:
    hr.config.set("events_count", 300)
    hr.config.set("events_cap", 1000)
    mark(hr, "a", "0-0")
    queue.put_many(range(500))
    mark_number(hr, "a", 450)
    queue.put_many(range(2500))
    there = present(hr)
    assert 1000 <= len(there) <= 1000 + SLACK
    assert log_of(hr).dropped == there.start - 1 - 450
    assert hr.lakes.list()[0].behind == 2552


def test_long_log_is_trimmed_in_steps_that_are_due_at_once(hr: Client, queue: Queue) -> None:
    mark(hr, "a", "0-0")
    hr.config.set("events_count", 300)
    queue.put_many(range(25_000))
    mark_number(hr, "a", 25_000)
    assert 25_000 - 10_000 <= length(hr) <= 25_000 - 9_000
    hr.sweep()
    assert length(hr) <= 25_000 - 18_000
    hr.sweep()
    assert 300 <= length(hr) <= 300 + PIECE
