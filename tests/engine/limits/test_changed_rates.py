"""The used part of a rate when the rate changes: the used tokens refill at the new rate."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace import Client, Put, Queue
from headrace.engine.source import source
from headrace.testing import Clock
from tests.model.harness import opened

KINDS = ("rate", "key_rate", "throttle")
Change = Callable[[str | None], None]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def change(kind: str, hr: Client, queue: Queue) -> Change:
    """Set the rate of the queue, of its keys or of the throttle of its jobs."""
    queue.put_many(range(700), key="k", throttles=["t"])

    def set_rate(rate: str | None) -> None:
        if kind == "throttle":
            hr.throttles.set("t", rate=rate)
        else:
            queue.configure(**{kind: rate})

    return set_rate


def started(queue: Queue) -> int:
    number = 0
    while leases := queue.pop("w", count=500):
        number += len(leases)
    return number


def test_raised_rate_applies_at_once(change: Change, queue: Queue, clock: Clock) -> None:
    change("2/h")
    assert started(queue) == 2

    change("100/s")
    assert started(queue) == 98
    clock.tick(0.5)
    assert started(queue) == 50


def test_used_tokens_stay_used(change: Change, queue: Queue, clock: Clock) -> None:
    change("10/m")
    assert started(queue) == 10
    clock.tick(30)

    change("20/m")
    assert started(queue) == 15
    clock.tick(3)
    assert started(queue) == 1


def test_lowered_rate_waits_for_its_own_interval_at_most(
    change: Change, queue: Queue, clock: Clock
) -> None:
    change("500/h")
    assert started(queue) == 500

    change("2/m")
    assert started(queue) == 0
    clock.tick(29.9)
    assert started(queue) == 0
    clock.tick(0.2)
    assert started(queue) == 1
    clock.tick(120)
    assert started(queue) == 2


def test_setting_the_same_rate_again_restores_no_tokens(change: Change, queue: Queue) -> None:
    change("2/h")
    assert started(queue) == 2

    change("2/h")
    assert started(queue) == 0


def test_removed_rate_forgets_its_used_tokens(change: Change, queue: Queue) -> None:
    change("2/h")
    assert started(queue) == 2

    change(None)
    change("3/h")
    assert started(queue) == 3


def test_rate_of_nothing_keeps_the_used_tokens(change: Change, queue: Queue, clock: Clock) -> None:
    change("2/h")
    assert started(queue) == 2
    change("0/h")
    assert started(queue) == 0

    change("2/h")
    assert started(queue) == 0
    clock.tick(1800)
    assert started(queue) == 1


def test_new_rate_of_the_keys_leaves_the_rate_of_the_queue(queue: Queue) -> None:
    queue.configure(rate="3/h", key_rate="1/h")
    queue.put_many([Put(n, key=str(n)) for n in range(9)])
    assert started(queue) == 3

    queue.configure(key_rate="100/h")
    assert started(queue) == 0
    queue.configure(rate="4/h")
    assert started(queue) == 1


def test_keys_with_the_most_used_tokens_are_converted(url: str) -> None:
    text = source("lib/change_limits").text
    few = text.replace("KEYS_AT_MOST = 4000", "KEYS_AT_MOST = 2")
    assert few != text
    hr, clock = opened(url, {"change_limits": few})
    with hr:
        queue = hr.queue("mail")
        queue.configure(key_rate="1/h", lease=None)
        for key in "abc":
            queue.put_many([0, 0], key=key)
            assert started(queue) == 1
            clock.tick(1)

        queue.configure(key_rate="1/m")
        assert [lease.job.key for lease in queue.pop("w", count=9)] == ["a"]
        clock.tick(60)
        assert started(queue) == 2
