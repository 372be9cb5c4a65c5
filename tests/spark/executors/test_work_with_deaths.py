"""headrace.spark.work loses no job and completes no job twice while tasks and servers die."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.spark import WorkCounts
from tests.spark.support.workplace import Workplace, workplace
from tests.support.restartable import meanwhile, restartable
from tests.support.servers import until

COUNT = 400


@pytest.fixture
def place(spark: SparkSession, valkey_url: str) -> Iterator[Workplace]:
    with workplace(spark, valkey_url) as found:
        yield found
        found.check()


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """Return the path of a file that functions wait for."""
    return tmp_path / "open"


def waits_at(gate: Path) -> Any:
    """Return a function that records its process id and waits for the gate."""

    def function(table: Any) -> Any:
        import os  # noqa: PLC0415 - the function runs in another process
        import time  # noqa: PLC0415

        gate.with_name(f"pid-{os.getpid()}").touch()
        while not gate.exists():
            time.sleep(0.01)
        return [os.getpid()] * table.num_rows

    return function


def pids(gate: Path) -> list[int]:
    return [int(path.name.removeprefix("pid-")) for path in gate.parent.glob("pid-*")]


def check_each_once(place: Workplace, ids: list[str]) -> None:
    assert place.completions() == dict.fromkeys(ids, 1)


def test_task_that_holds_the_gil_keeps_its_jobs(place: Workplace) -> None:
    ids = place.put("long", 2)

    def hogs(table: Any) -> Any:
        ctypes.PyDLL(None).usleep(4_500_000)
        return table["attempt"].to_pylist()

    assert place.work("long", hogs, tasks=1).completed == 2
    assert place.results(ids) == [1, 1]


def test_killed_task_loses_and_repeats_nothing(place: Workplace, gate: Path) -> None:
    ids = place.put("fragile", COUNT)

    def kill_one() -> None:
        until(lambda: len(pids(gate)) == 2, "both tasks have called the function", 60)
        os.kill(pids(gate)[0], signal.SIGKILL)
        until(
            lambda: "lost" in [e.kind for e in place.client.events()],
            "the jobs of the dead task are waiting",
        )
        gate.touch()

    with meanwhile(kill_one):
        tally = place.work("fragile", waits_at(gate), batch=50)

    assert tally.deaths >= 1
    assert (tally.completed, tally.failed) == (COUNT, 0)
    check_each_once(place, ids)


def test_reclaimed_job_is_refused_and_done_by_another_task(place: Workplace, gate: Path) -> None:
    ids = place.put("taken", 10)

    def take() -> None:
        until(lambda: len(pids(gate)) == 1, "a task has called the function", 60)
        [task] = [worker for worker in place.client.workers.list() if worker.jobs]
        place.client.workers.end(task.name)
        gate.touch()

    with meanwhile(take):
        tally = place.work("taken", waits_at(gate), tasks=1)

    assert (tally.completed, tally.refused, tally.deaths) == (10, 10, 0)
    check_each_once(place, ids)
    assert {place.job(job_id).attempt for job_id in ids} == {2}


def test_job_that_kills_its_process_runs_alone_until_it_fails(
    place: Workplace,
) -> None:
    place.put("deadly", 20, retries=2)

    def function(table: Any) -> None:
        import os  # noqa: PLC0415 - the function runs in another process

        if 7 in table["data.n"].to_pylist():
            os.kill(os.getpid(), 9)

    tally = place.work("deadly", function, tasks=1)

    assert tally.deaths == 3
    assert (tally.completed, tally.failed) == (19, 1)
    counts = place.client.queue("deadly").counts()
    assert (counts.complete, counts.failed) == (19, 1)
    assert place.job("deadly-7").state == "failed"


@pytest.mark.slow
def test_run_waits_for_a_killed_server(spark: SparkSession, gate: Path) -> None:
    with restartable() as server, workplace(spark, server.url) as place:
        ids = place.put("steady", COUNT)

        def restart() -> None:
            until(lambda: len(pids(gate)) == 2, "both tasks have called the function", 60)
            server.kill()
            gate.touch()
            server.start()

        with meanwhile(restart):
            tally: WorkCounts = place.work("steady", waits_at(gate), batch=50)

        assert tally.deaths == 0
        check_each_once(place, ids)
        place.check()
