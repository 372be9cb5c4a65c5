"""Retention limits apply to idle queues too."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import Client, JobNotFound, Queue
from headrace.testing import Clock


def test_result_is_kept_for_its_ttl_if_its_job_is_not_kept(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.configure(keep_count=1)
    first, second = queue.put("a"), queue.put("b")
    for lease in queue.pop("w", count=2):
        clock.tick(1)
        lease.complete(f"result of {lease.data}")

    assert [job.id for job in queue.jobs("complete").jobs] == [second]
    assert hr.result(first).value == "result of a"
    assert hr.audit().balanced

    clock.tick(timedelta(days=1))
    hr.sweep()

    with pytest.raises(JobNotFound):
        hr.result(first)
    assert hr.job(first) is None
    assert hr.audit().balanced


def test_a_short_event_log_is_cut_by_age_too(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put_many(range(150))
    clock.tick(timedelta(days=7, milliseconds=1))

    hr.sweep()

    assert len(list(hr.events())) < 100
