"""Random kills of processes, supervisors and process trees lose no job."""

from __future__ import annotations

import os
import random
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.servers import until, valkey
from tests.support.shards import numbered_without_holes
from tests.worker.support.site import Site, Work, site_on
from tests.worker.support.verify import assert_done_once

WORKERS = 3
OPTIONS = ("--processes", "2", "-c", "20", "--session", "1")


class Killer:
    """Kills random processes of several workers, and replaces workers that have ended."""

    def __init__(self, site: Site, seed: int) -> None:
        self._site = site
        self._chance = random.Random(seed)
        self._workers = [self._start() for _ in range(WORKERS)]

    def _start(self) -> Work:
        return self._site.work(*OPTIONS)

    def strike(self) -> None:
        victim = self._chance.choice(self._workers)
        how = self._chance.choice(("process", "process", "supervisor", "tree"))
        if how == "process":
            processes = victim.processes()
            if processes:
                with suppress(ProcessLookupError):
                    os.kill(self._chance.choice(processes), signal.SIGKILL)
            return
        if how == "tree":
            victim.kill()
        else:
            victim.signal(signal.SIGKILL)
            victim.exit_code()
        self._workers.remove(victim)
        self._workers.append(self._start())


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize(("shards", "jobs", "strikes"), [(1, 5000, 16), (4, 1500, 8)])
def test_random_kills_lose_no_job_and_repeat_only_reclaimed_jobs(
    shards: int, jobs: int, strikes: int, tmp_path: Path
) -> None:
    chance = random.Random(shards)
    with valkey() as url, site_on(url, tmp_path, shards) as site:
        tasks = ["brief", "brief", "brief_sync"]
        ids = site.queue.put_many(
            [
                {"task": chance.choice(tasks), "args": {"seconds": chance.uniform(0, 0.08)}}
                for _ in range(jobs)
            ],
            retries=None,
        )
        killer = Killer(site, seed=shards)
        for number in range(1, strikes + 1):
            share = jobs * number // (strikes + 2)
            until(
                lambda: site.queue.counts().complete >= share,  # noqa: B023
                f"{share} jobs are complete",
                60,
            )
            killer.strike()
        until(lambda: site.queue.counts().complete == jobs, "all jobs are complete", 60)

        assert_done_once(site, ids)
        assert numbered_without_holes(site.hr)
        counts = site.queue.counts()
        assert (counts.length, counts.failed, counts.complete) == (0, 0, jobs)
        assert any(event.kind == "lost" for event in site.hr.events(count=10_000))
