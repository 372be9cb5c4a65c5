"""What the state machine has found, said directly, so that it stays found."""

from __future__ import annotations

from headrace import Client, Queue
from headrace.testing import Clock


def test_a_replaced_job_has_the_retries_it_was_replaced_with(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put("old", id="a", retries=None)
    queue.put("new", id="a", retries=1, on_exists="replace")
    for attempt in (1, 2):
        [lease] = queue.pop("w1", lease=5)
        assert lease.attempt == attempt
        clock.tick(5)
    assert queue.pop("w1") == []
    assert hr.failures() == {"retries exhausted": 1}
