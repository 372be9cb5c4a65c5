"""A record that was deleted from outside, for example by eviction, does not stop the scripts."""

from __future__ import annotations

import pytest

from headrace import Client, Queue
from headrace.testing import Clock


def erase(hr: Client, job_id: str) -> None:
    assert hr.core.transport.send([(0, ("DEL", hr.core.key(0, f"job:{job_id}")))]) == [1]


def test_waiting_job_without_a_record_is_skipped(hr: Client, queue: Queue) -> None:
    lost, kept = queue.put("lost"), queue.put("kept")
    erase(hr, lost)

    assert [job.id for job in queue.peek(2)] == [kept]
    assert [lease.id for lease in queue.pop("w", count=2)] == [kept]
    assert queue.counts().waiting == 0
    assert hr.audit().problems == [
        f"job {lost!r} is gone, but its newest event is 'put'",
        "queue 'mail': the books say 1 waiting, but 0 exist",
    ]


def test_scheduled_job_without_a_record_is_skipped(hr: Client, queue: Queue, clock: Clock) -> None:
    lost, kept = queue.put("lost", delay=1), queue.put("kept", delay=2)
    erase(hr, lost)
    clock.tick(2)

    assert [lease.id for lease in queue.pop("w", count=2)] == [kept]
    assert queue.counts().scheduled == 0


@pytest.mark.parametrize("holder", ["in session", "without one"])
def test_running_job_without_a_record_is_skipped(
    hr: Client, queue: Queue, clock: Clock, holder: str
) -> None:
    lost, kept = queue.put("lost"), queue.put("kept")
    if holder == "in session":
        hr.session("dying", ttl=3)
    queue.pop("dying", count=2, lease=5)
    erase(hr, lost)
    clock.tick(5)

    assert [lease.id for lease in queue.pop("w", count=2)] == [kept]


def test_a_queue_with_jobs_without_records_can_be_deleted(hr: Client, queue: Queue) -> None:
    for job_id in [queue.put("waiting"), queue.put("scheduled", delay=5)]:
        erase(hr, job_id)
    queue.put("kept")

    queue.delete()

    assert hr.queues() == {}
