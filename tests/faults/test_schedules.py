"""Four processes pop, and some are killed: each run of a schedule creates exactly one job."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

import headrace
from headrace import Client
from tests.proof import proves
from tests.support.processes import start_python
from tests.support.servers import until, valkey
from tests.support.shards import numbered_without_holes

WORKER = """
import sys, headrace
url, namespace, name = sys.argv[1:]
queue = headrace.connect(url, namespace=namespace).queue("work")
while True:
    for lease in queue.pop(name, count=3, lease=1, wait=1):
        lease.complete()
"""
PLANS = {f"plan {number}": 0.03 + 0.01 * number for number in range(5)}
KILLS = 4


@contextmanager
def workers(hr: Client, url: str) -> Iterator[list[subprocess.Popen[str]]]:
    running = [start_python(WORKER, url, hr.core.namespace, f"w{number}") for number in range(4)]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.communicate()


def made(hr: Client) -> int:
    return sum(schedule.made for schedule in hr.schedules.list())


@proves("QL-12")
@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 4])
def test_each_scheduled_run_is_made_once_although_workers_are_killed(shards: int) -> None:
    with valkey() as url, headrace.connect(url, shards=shards) as hr:
        queue = hr.queue("work")
        firsts = {
            name: queue.schedule(name, name, every=every, backlog=None).next
            for name, every in PLANS.items()
        }
        with workers(hr, url) as running:
            for kill in range(KILLS):
                share = 60 * (kill + 1)
                until(lambda: made(hr) >= share, f"{share} runs are made")  # noqa: B023
                running[kill % 4].kill()
                running.append(start_python(WORKER, url, hr.core.namespace, f"new {kill}"))
            until(lambda: made(hr) >= 60 * (KILLS + 2), "more runs are made")
            # While late workers catch up with many due runs, some shards get no run for a while.
            until(
                lambda: all(plan.counter > 10 for plan in hr.schedules.list()),
                "all schedules have runs",
            )
            counted = {schedule.id: schedule.counter for schedule in hr.schedules.list()}
            assert sorted(hr.schedules.delete(*PLANS)) == sorted(PLANS)
            until(lambda: queue.counts().length == 0, "the queue is empty")

        put = [event for event in hr.events() if event.kind == "put"]
        assert numbered_without_holes(hr)
        for name, every in PLANS.items():
            ids = [event.job_id for event in put if event.schedule == name]
            prefix = name if shards == 1 else f"{{{name}}}"
            assert ids == [f"{prefix}-{number}" for number in range(1, len(ids) + 1)]
            assert len(ids) >= counted[name] > 10
            due = [job.put_at - firsts[name] for job in hr.jobs(ids)]
            assert due == [number * timedelta(seconds=every) for number in range(len(ids))]
        assert len(put) == len({event.job_id for event in put})
        assert hr.audit().problems == []
