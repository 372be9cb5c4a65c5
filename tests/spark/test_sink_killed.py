"""A driver that is killed repeatedly, with all its processes, while it writes a stream."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from time import monotonic, sleep
from uuid import uuid4

import pytest

from headrace import Client, Job, connect
from tests.support import servers
from tests.support.dump import dump

ROWS = 40
DRIVER = "tests.spark.support.driver_sink"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_driver_killed_twice_writes_each_row_once(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path, batches=6, kills=2, shards=1)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("shards", "kills"), [(1, 22), (4, 8)])
def test_driver_killed_at_many_points_writes_each_row_once(
    tmp_path: Path, shards: int, kills: int
) -> None:
    killed_again_and_again(tmp_path, batches=50, kills=kills, shards=shards)


def killed_again_and_again(home: Path, *, batches: int, kills: int, shards: int) -> None:
    (home / "in").mkdir()
    for batch in range(batches):
        lines = [json.dumps({"n": batch * ROWS + row}) for row in range(ROWS)]
        (home / "in" / f"{batch:05}.json").write_text("\n".join(lines))
    chance = Random(kills)
    with (
        servers.valkey() as url,
        connect(url, namespace=f"s-{uuid4().hex[:8]}", shards=shards) as hr,
    ):
        for number in range(kills):
            # Each run of the driver writes some of the batches.
            until = batches * (number + 1) // (kills + 2)
            one_life(hr, url, home, until=until, then=chance.uniform(0, 1.5))
        one_life(hr, url, home, until=None, then=0)
        assert (home / "done").exists()

        puts = Counter(event.job_id for event in hr.events(count=10_000))
        assert set(puts.values()) == {1}
        jobs = [job.data["n"] for job in jobs_of(hr)]
        assert sorted(jobs) == [*range(batches * ROWS)]
        assert hr.audit().balanced
        assert not [key for key in dump(hr) if "}:attempts" in key]


def jobs_of(hr: Client) -> list[Job]:
    found: list[Job] = []
    while page := hr.queue("mail").jobs("waiting", offset=len(found), count=1000).jobs:
        found += page
    return found


def one_life(hr: Client, url: str, home: Path, *, until: int | None, then: float) -> None:
    """Run a driver until the jobs of `batches` batches exist, and then for a short time."""
    command = [sys.executable, "-m", DRIVER, url, hr.core.namespace, str(home)]
    log = (home / "log").open("ab")
    with log, subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True) as driver:
        deadline = monotonic() + 600
        while driver.poll() is None and monotonic() < deadline:
            if until is not None and hr.queue("mail").counts().waiting >= until * ROWS:
                sleep(then)
                break
            sleep(0.05)
        with suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert monotonic() < deadline, (home / "log").read_text()[-2000:]
