"""The parts of a worker that need no server: which queue is asked, how much is held."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import Backoff, InvalidArgument
from headrace.engine.record import Record
from headrace.operations.popping import SAFETY_POLL, Popped
from headrace.worker.notices import Hands
from headrace.worker.prefetch import HORIZON, MOST, Prefetch
from headrace.worker.settings import Served, read_queues
from headrace.worker.sources import Sources
from headrace.worker.suspects import Suspects, is_suspect


def asked(sources: Sources, room: int) -> list[tuple[str, int, int]]:
    return sorted((source.queue, source.shard, count) for source, count in sources.next(room))


def served(listed: str, shards: int = 1) -> Sources:
    queues, weighted = read_queues(listed)
    return Sources(queues, shards, weighted=weighted)


# queues


def test_queues_are_read_in_order_or_with_weights() -> None:
    assert read_queues("mail, default") == ((Served("mail"), Served("default")), False)
    assert read_queues("mail:3,default:0.5") == ((Served("mail", 3), Served("default", 0.5)), True)
    assert read_queues("") == ((), False)


@pytest.mark.parametrize(
    "listed", ["mail:", "mail:x", ":3", "mail:0", "mail:-1", "mail:inf", "a,a"]
)
def test_queues_that_make_no_sense_are_refused(listed: str) -> None:
    with pytest.raises(InvalidArgument):
        read_queues(listed)


def test_the_first_queue_is_asked_until_it_has_no_more() -> None:
    sources = served("mail,default")
    assert asked(sources, 5) == [("mail", 0, 5)]

    [(mail, _)] = sources.next(5)
    sources.answered(mail, 5, 5, 0)
    assert asked(sources, 5) == [("mail", 0, 5)]
    sources.answered(mail, 5, 2, None)
    assert asked(sources, 3) == [("default", 0, 3)]
    sources.wake("mail", 0)
    assert asked(sources, 3) == [("mail", 0, 3)]


def test_nobody_is_asked_before_something_is_due() -> None:
    sources = served("mail,default")
    for due, longest in ((1.5, 1.5), (None, SAFETY_POLL)):
        sources.wake_all()
        while found := sources.next(1):
            sources.answered(found[0][0], 1, 0, due)
        assert 0.5 * longest < sources.seconds_left() <= longest
    sources.wake_all()
    assert sources.seconds_left() == 0


@given(st.integers(1, 600), st.integers(1, 9))
def test_what_is_asked_for_is_divided_over_the_shards(room: int, shards: int) -> None:
    found = served("mail", shards).next(room)

    counts = [count for _, count in found]
    assert sum(counts) == room
    assert len(counts) == min(room, shards)
    assert max(counts) - min(counts) <= 1


def test_weighted_queues_are_asked_as_often_as_their_weights_say() -> None:
    random.seed(7)
    sources = served("mail:3,default:1")

    first = Counter(sources.next(1)[0][0].queue for _ in range(4000))

    assert 2800 < first["mail"] < 3200


# how much is held


@given(st.lists(st.floats(0, 100), max_size=50), st.integers(1, 1000))
def test_what_is_held_is_bounded(seconds: list[float], concurrency: int) -> None:
    prefetch = Prefetch(concurrency)
    for one in seconds:
        prefetch.ended(one)

    assert concurrency <= prefetch.capacity() <= concurrency + MOST


def test_only_quick_jobs_are_held_beyond_what_runs() -> None:
    prefetch = Prefetch(10)
    assert prefetch.capacity() == 10
    for _ in range(100):
        prefetch.ended(0.0001)
    assert prefetch.capacity() == 10 + MOST
    prefetch.stuck(5.0)
    assert prefetch.capacity() == 10
    for _ in range(1000):
        prefetch.ended(HORIZON / 2)
    assert prefetch.capacity() in (29, 30)


def test_one_slow_job_counts_at_once() -> None:
    prefetch = Prefetch(10)
    for _ in range(100):
        prefetch.ended(0.0001)
    prefetch.ended(10.0)

    assert prefetch.capacity() == 10


@pytest.mark.parametrize(
    ("concurrency", "seconds", "wanted"),
    [(10, None, MOST), (10, 0.0001, MOST), (10, 0.01, 10), (2 * MOST, 0.01, MOST)],
)
def test_where_jobs_outlast_a_trip_no_more_are_asked_for_than_can_be_begun(
    concurrency: int, seconds: float | None, wanted: int
) -> None:
    prefetch = Prefetch(concurrency)
    if seconds is not None:
        prefetch.ended(seconds)

    assert prefetch.at_once() == wanted


# what was lost again and again


def popped(*outcomes: str, name: str = "x") -> Popped:
    history: list[list[Any]] = [["q", 0, 0, 0, "w", outcome, "", ""] for outcome in outcomes]
    fields: dict[str, Any] = dict.fromkeys(Record.__struct_fields__, 0)
    record = Record(**fields | {"attempt": len(outcomes) + 1, "history": history or False})
    return Popped(name, record, b"", b"")


@pytest.mark.parametrize(
    ("outcomes", "suspect"),
    [
        ((), False),
        (("lost",), False),
        (("lost", "lost"), True),
        (("lost", "retried"), False),
        (("retried", "lost"), False),
        (("lost", "released", "lost", "released"), True),
        (("lost", "lost", "retried", "lost"), False),
        (("retried", "lost", "lost", "lost"), True),
    ],
)
def test_who_was_lost_twice_in_a_row_is_suspect(
    outcomes: tuple[str, ...],
    suspect: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert is_suspect(popped(*outcomes)) is suspect


def test_suspects_run_one_at_a_time() -> None:
    suspects = Suspects()
    first, second = popped(name="a"), popped(name="b")

    assert (bool(suspects), suspects.begin()) == (False, None)
    assert suspects.add(first)
    assert not suspects.add(second)
    assert suspects.begin() is first
    assert suspects.begin() is None
    assert not suspects.add(second)
    suspects.forget(first)
    assert (bool(suspects), suspects.careful) == (False, True)
    assert suspects.add(second)
    assert suspects.give_up() == [second]
    assert not suspects


# what is in hand


def test_who_says_too_late_that_we_have_a_job_is_not_believed() -> None:
    taken: list[tuple[Any, str]] = []
    hands = Hands("w", lambda job, why: taken.append((job, why)))

    assert hands.add(("a", "1"), "job a")
    hands.take("cancelled", ("a", "1"))
    hands.take("lost", ("b", "1"))
    hands.refuse(("c", "1"), "returned")

    assert taken == [("job a", "cancelled")]
    assert [hands.add((name, "1"), name) for name in "bcd"] == [False, False, True]
    assert hands.add(("b", "2"), "again")
    assert hands.proofs() == [("d", "1"), ("b", "2")]
    assert (hands.drop(("d", "1")), hands.drop(("d", "1"))) == (True, False)


# backoff


@given(
    st.integers(1, 10_000),
    st.floats(0, 1e6),
    st.floats(0, 100),
    st.floats(0, 1e6),
    st.floats(0, 1),
)
def test_a_wait_lies_between_its_bounds(
    retry: int, first: float, factor: float, most: float, jitter: float
) -> None:
    wait = Backoff(first, factor, most, jitter).seconds(retry)

    assert 0 <= wait <= most


def test_waits_grow_up_to_the_longest() -> None:
    backoff = Backoff(first=1, factor=3, most=20, jitter=0)

    assert [backoff.seconds(retry) for retry in range(1, 6)] == [1, 3, 9, 20, 20]


@pytest.mark.parametrize("wrong", [{"first": -1}, {"jitter": 1.5}, {"factor": "2"}, {"most": True}])
def test_a_backoff_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        Backoff(**wrong)
