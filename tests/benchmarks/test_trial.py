"""Reports of jobs, and the figures computed from them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.comparison.competitors import HEADRACE
from benchmarks.comparison.servers import Valkey
from benchmarks.comparison.trial import Trial
from benchmarks.comparison.workloads.drain import rate
from benchmarks.comparison.workloads.kill import Step, figures, parsed

COUNTING = """
import os
from benchmarks.competitors.job_log import JobLog
job_log = JobLog()
for _ in range(3):
    job_log.count()
if not os.fork():
    job_log.begin()
    job_log.begin()
    job_log.count()
    os._exit(0)
os.wait()
"""


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(HEADRACE, Valkey(""), tmp_path, 10)


def test_jobs_are_counted_in_every_process_and_after_a_fork(trial: Trial) -> None:
    settings = {"BENCH_HOME": str(trial.directory), "BENCH_JOBS": "10"}
    subprocess.run([sys.executable, "-c", COUNTING], check=True, env=os.environ | settings)

    assert trial.counted() == 4
    assert sorted(len(times) for times in trial.times()) == [1, 3]
    assert len(trial.lines("begun")) == 1


def test_incomplete_line_is_ignored(trial: Trial) -> None:
    (trial.directory / "late").write_text("0.1\n0.2\n0.")

    assert trial.lines("late") == ["0.1\n", "0.2\n"]
    assert trial.lines("never written") == []


def test_rate_starts_when_all_processes_work() -> None:
    early, late = [1.0, 2.0, 3.0, 4.0], [3.0, 3.5, 5.0]

    assert rate([early], 1) == 1.0
    assert rate([early, late], 2) == 1.5


def test_rate_with_one_process_per_job() -> None:
    assert rate([[1.0], [2.0], [3.0], [4.0]], 2) == 1.0


def steps(text: str) -> list[Step]:
    return parsed(text.strip().splitlines())


def test_jobs_without_an_end_before_the_kill_were_interrupted() -> None:
    found = figures(
        steps("""
            begun 0 1.0 7
            ended 0 1.1 7
            begun 1 1.2 7
            begun 2 1.2 7
            begun 1 4.0 8
            ended 1 4.1 8
            begun 2 5.0 8
            ended 2 5.5 8
            ended 2 6.0 9
        """),
        jobs=3,
        killed=1.5,
    )

    assert found == {"lost": 0, "doubled": 1, "in_flight": 2, "again_s": 3.5, "done_s": 4.5}


def test_lost_jobs_have_no_recovery_time() -> None:
    found = figures(steps("begun 0 1.0 7\nbegun 1 4.0 8\nended 1 4.1 8"), jobs=3, killed=1.5)

    assert found == {"lost": 2, "doubled": 0, "in_flight": 1}
