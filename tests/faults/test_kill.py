"""Fifty workers in ten processes, some of them killed: every job completes exactly once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import headrace
from headrace import Client, Event
from tests.faults.support import consumer
from tests.support.servers import until, valkey
from tests.support.shards import numbered_without_holes

PROCESSES = 10
JOBS = 10_000
REFILL = 500
KILLS = 10
GIVES_UP = {"lost", "released", "retried"}


class Crew:
    """Processes of workers on one queue; a killed one is replaced."""

    def __init__(self, hr: Client, url: str, notes: Path) -> None:
        self._hr = hr
        self._url = url
        self._notes = notes
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._chance = random.Random(7)
        self._hired = 0

    def hire(self, count: int) -> None:
        for _ in range(count):
            name = f"process {self._hired}"
            self._hired += 1
            arguments = [self._url, self._hr.core.namespace, name, str(self._notes)]
            command = [sys.executable, "-m", consumer.__name__, *arguments]
            self._running[name] = subprocess.Popen(command)

    def replace_one_that_holds_jobs(self) -> bool:
        """Stop a process; kill and replace it if it holds jobs. Return whether it was killed."""
        name = self._chance.choice(sorted(self._running))
        process = self._running[name]
        process.send_signal(signal.SIGSTOP)
        held = [
            worker.jobs
            for worker in self._hr.workers.list(count=1000)
            if worker.name.startswith(f"{name}.")
        ]
        if sum(held) == 0:
            process.send_signal(signal.SIGCONT)
            return False
        process.kill()
        process.wait()
        del self._running[name]
        self.hire(1)
        return True

    def dismiss(self) -> None:
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            process.wait()


@pytest.fixture(params=[1, 4])
def busy_server(request: pytest.FixtureRequest) -> Iterator[tuple[Client, str]]:
    with valkey() as url, headrace.connect(url, shards=request.param) as client:
        yield client, url


def histories(events: list[Event]) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        found[event.job_id].append(event)
    return found


def assert_done_once(history: list[Event]) -> None:
    """Assert that the job has one holder at a time, a reason for each lost lease, and one end."""
    kinds = [event.kind for event in history]
    assert kinds[0] == "put"
    assert kinds[-1] == "completed"
    assert kinds.count("put") == kinds.count("completed") == 1
    for before, after in pairwise(history):
        if after.kind == "popped":
            assert before.kind == "put" or before.kind in GIVES_UP
        else:
            assert before.kind == "popped"
            assert (before.worker, before.attempt) == (after.worker, after.attempt)
    deliveries = [event.attempt for event in history if event.kind == "popped"]
    assert deliveries == list(range(1, len(deliveries) + 1))
    assert {event.reason for event in history if event.kind == "lost"} <= {
        "session ended",
        "lease expired",
    }


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_every_job_completes_once_although_workers_are_killed(
    busy_server: tuple[Client, str], tmp_path: Path
) -> None:
    client, url = busy_server
    queue = client.queue("work")
    queue.configure("job", session="required", retries=None)
    ids = queue.put_many(range(JOBS))
    notes = tmp_path / "completed"
    crew = Crew(client, url, notes)
    crew.hire(PROCESSES)

    def killed() -> bool:
        if queue.counts().waiting == 0:
            ids.extend(queue.put_many(range(REFILL)))
        return crew.replace_one_that_holds_jobs()

    try:
        for number in range(1, KILLS + 1):
            share = JOBS * number // (KILLS + 2)
            until(lambda: queue.counts().complete >= share, f"{share} are done", 60)  # noqa: B023
            until(killed, "a process that holds jobs was killed")
        until(lambda: queue.counts().complete == len(ids), "all jobs are complete", 60)
    finally:
        crew.dismiss()

    events = [event for event in client.events(count=10_000) if event.job_id]
    assert numbered_without_holes(client)
    by_job = histories(events)
    assert set(by_job) == set(ids)
    for history in by_job.values():
        assert_done_once(history)
    assert sum(event.kind == "lost" for event in events) >= KILLS

    noted = notes.read_text().split()
    assert len(noted) == len(set(noted))
    assert client.audit().problems == []
    counts = queue.counts()
    assert (counts.length, counts.failed, counts.complete) == (0, 0, len(ids))
