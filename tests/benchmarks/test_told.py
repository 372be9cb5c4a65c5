"""What jobs tell, and what is made of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.field.contestants import OURS
from benchmarks.field.servers import Valkey
from benchmarks.field.turn import Turn
from benchmarks.field.workloads.drain import rate
from benchmarks.field.workloads.kill import Step, figures, parsed

COUNTING = """
import os
from benchmarks.rivals.tally import Tally
tally = Tally()
for _ in range(3):
    tally.count()
if not os.fork():
    tally.begin()
    tally.begin()
    tally.count()
    os._exit(0)
os.wait()
"""


@pytest.fixture
def turn(tmp_path: Path) -> Turn:
    return Turn(OURS, Valkey(""), tmp_path, 10)


def test_jobs_are_counted_in_every_process_also_in_those_that_fork(turn: Turn) -> None:
    told = {"BENCH_HOME": str(turn.home), "BENCH_JOBS": "10"}
    subprocess.run([sys.executable, "-c", COUNTING], check=True, env=os.environ | told)

    assert turn.counted() == 4
    assert sorted(len(times) for times in turn.times()) == [1, 3]
    assert len(turn.lines("begun")) == 1


def test_a_line_that_is_being_written_is_left_for_later(turn: Turn) -> None:
    (turn.home / "late").write_text("0.1\n0.2\n0.")

    assert turn.lines("late") == ["0.1\n", "0.2\n"]
    assert turn.lines("never told") == []


def test_the_rate_is_from_when_all_processes_work() -> None:
    early, late = [1.0, 2.0, 3.0, 4.0], [3.0, 3.5, 5.0]

    assert rate([early], 1) == 1.0
    assert rate([early, late], 2) == 1.5


def test_a_process_for_each_job_counts_as_well() -> None:
    assert rate([[1.0], [2.0], [3.0], [4.0]], 2) == 1.0


def steps(text: str) -> list[Step]:
    return parsed(text.strip().splitlines())


def test_jobs_at_work_when_the_worker_was_killed_are_those_it_did_not_end() -> None:
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


def test_what_never_ran_again_has_no_time() -> None:
    found = figures(steps("begun 0 1.0 7\nbegun 1 4.0 8\nended 1 4.1 8"), jobs=3, killed=1.5)

    assert found == {"lost": 2, "doubled": 0, "in_flight": 1}
