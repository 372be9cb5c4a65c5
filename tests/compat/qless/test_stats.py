"""Statistics: two series for each queue and day."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from headrace import Client
from headrace.testing import START, Clock
from tests.proof import proves

NOW = START.timestamp()
MINUTE, HOUR, DAY = 60, 3600, 86_400


def waited(queue: Any, clock: Clock, seconds: float) -> Any:
    """Return a job that was popped after this many seconds."""
    queue.put(1)
    clock.tick(seconds)
    return queue.pop()


@proves("Q-90", "QD-02")
def test_waits_count_on_the_day_of_the_pop_and_runs_on_the_day_of_the_completion(
    queue: Any, clock: Clock
) -> None:
    clock.tick(DAY - 100)
    job = waited(queue, clock, 40)
    clock.tick(70)
    job.complete()

    first = queue.stats("2026-01-01")
    second = queue.stats(date(2026, 1, 2))
    assert (first["wait"]["total"], first["run"]["total"]) == (1, 0)
    assert (second["wait"]["total"], second["run"]["total"]) == (0, 1)
    assert (first["wait"]["mean"], second["run"]["mean"]) == (40, 70)
    assert queue.stats(NOW + DAY - 1) == first
    assert queue.stats(NOW + DAY) == second == queue.stats()


@proves("Q-91", "Q-92", "Q-93")
def test_values_0_to_19_have_the_reference_statistics(queue: Any, clock: Clock) -> None:
    for _ in range(20):
        queue.put(1)
    for _ in range(20):
        queue.pop()
        clock.tick(1)

    found = (queue.stats())["wait"]

    assert (found["total"], found["count"], found["mean"]) == (20, 20, 9.5)
    assert found["variance"] == pytest.approx(35, abs=1e-9)
    assert found["std"] == pytest.approx(5.916079783099, abs=1e-9)
    assert found["histogram"][:20] == [1] * 20
    assert sum(found["histogram"]) == 20


@proves("Q-94")
def test_day_without_data_has_zeros(queue: Any) -> None:
    found = queue.stats("2025-12-31")

    for name in ("wait", "run"):
        assert (found[name]["total"], found[name]["mean"], found[name]["variance"]) == (0, 0, 0)
        assert set(found[name]["histogram"]) == set(found[name]["coarse_histogram"]) == {0}
    assert (found["failed"], found["failures"], found["retries"]) == (0, 0, 0)


# Seconds waited, and the index in the documented and in the implemented layout.
BINS = [
    (0.4, 0, 0),
    (59, 59, 59),
    (MINUTE, 60, 60),
    (59 * MINUTE + 59, 118, 118),
    (HOUR, 119, 119),
    (HOUR + 15 * MINUTE, 120, 119),
    (DAY - 1, 210, 141),
    (DAY, 211, 142),
    (DAY + HOUR, 212, 142),
    (3 * DAY - 1, 258, 143),
    (3 * DAY, 259, 144),
    (6 * DAY, 262, 147),
    (40 * DAY, 296, 147),
]


@proves("Q-95", "Q-96", "Q-97", "QD-03")
def test_value_falls_into_the_documented_and_the_implemented_bin(qless: Any, clock: Clock) -> None:
    for number, (seconds, fine, coarse) in enumerate(BINS):
        queue = qless.queues[f"q{number}"]
        waited(queue, clock, seconds)
        found = (queue.stats())["wait"]

        assert found["histogram"][fine] == 1, seconds
        assert found["coarse_histogram"][coarse] == 1, seconds
        assert sum(found["histogram"]) == sum(found["coarse_histogram"]) == found["total"] == 1
        assert len(found["coarse_histogram"]) == 148


@proves("Q-98")
def test_log_has_times_by_worker_and_tag(queue: Any, hr: Client, clock: Clock) -> None:
    queue.put(1, tags=["t"], id="j")
    clock.tick(3)
    job = queue.pop()
    clock.tick(4)
    job.complete()

    put, popped, completed = hr.events()
    assert (put.tags, popped.worker, completed.worker) == ('["t"]', "w1", "w1")
    assert (popped.wait, completed.run) == (3000, 4000)


@proves("Q-99")
def test_wait_time_begins_when_the_job_last_became_available(
    queue: Any, qless: Any, clock: Clock
) -> None:
    queue.put(1, delay=100, id="j")
    clock.tick(105)
    queue.peek()
    queue.pop()
    assert (queue.stats())["wait"]["mean"] == 5

    clock.tick(63)
    queue.pop()
    assert (queue.stats())["wait"]["mean"] == (5 + 3) / 2
    assert (qless.jobs["j"]).history[-1][2] == NOW + 168
