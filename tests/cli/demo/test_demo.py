"""The command `demo`."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace import Event
from headrace.cli.demo import report
from headrace.cli.demo.environment import (
    DemoEnvironment,
    DemoWorkers,
    open_environment,
)
from headrace.demo import NAMESPACE
from headrace.errors import HeadraceError
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory
from tests.support.processes import gone

# Spark is slow on a busy machine.
pytestmark = pytest.mark.timeout(600)

PLAIN = os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "FORCE_COLOR": "", "PYTHONUTF8": "1"}
PROGRAM = "from headrace.cli.main import main; main()"
COMMAND = [sys.executable, "-c", PROGRAM]
# This program handles SIGINT even if a shell started the tests in the background.
INTERRUPTIBLE = """
import signal
from headrace.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
# Simulates a missing extra.
WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None
from headrace.cli.main import main
main()
"""
JOBS = 400
# Suggested commands that exit without input. If there is no terminal, top exits too.
ASKED = ("failures", "job", "retry", "top")
BEGUN = datetime(2026, 11, 15, tzinfo=UTC)


@dataclass
class DemoOutput:
    """The output of two demos in separate directories.

    `story` is the text of a demo in `here`; `found` is the JSON of a demo without Spark.
    """

    here: Path
    story: str
    found: dict[str, Any]
    mine: str


def begin(here: Path, *arguments: str, program: str = PROGRAM) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=here,
        env=PLAIN,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def command(here: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=here, env=PLAIN, capture_output=True, text=True, check=False
    )


@pytest.fixture
def here() -> Iterator[Path]:
    with scratch_directory() as path:
        yield path
        embedded.stop(path / ".headrace")


@pytest.fixture(scope="module")
def output() -> Iterator[DemoOutput]:
    with scratch_directory() as here, scratch_directory() as elsewhere:
        with headrace.connect(embedded.start(here / ".headrace"), namespace="mine") as hr:
            mine = hr.queue("mail").put("mine")
        people = begin(here, "demo", "--jobs", str(JOBS))
        programs = begin(elsewhere, "demo", "--jobs", str(JOBS), "--json", program=WITHOUT_SPARK)
        story, complaint = people.communicate()
        found, other_complaint = programs.communicate()
        assert (people.returncode, programs.returncode) == (0, 0)
        notices = (complaint + other_complaint).splitlines()
        assert all(line.startswith("headrace: finished ") for line in notices)
        yield DemoOutput(here, story, json.loads(found), mine)
        for directory in (here, elsewhere):
            embedded.stop(directory / ".headrace")


def test_demo_shows_the_kill_and_the_recovery(output: DemoOutput) -> None:
    words = re.findall(r"^([a-z]\S*(?: -9)?) ", output.story, re.MULTILINE)

    assert words == [
        *("put", "work", "kill -9", "recover", "replace", "drain", "numbers"),
        *("wait", "run", "failures", "recovered", "limits", "cron", "audit"),
        *("spark", "lake", "rollup", "sql", "plot", "equal"),
    ]  # fmt: skip
    handed_on = re.search(r"(\d+) of (\d+) jobs were handed to another worker", output.story)
    over = re.search(r"(\d+) of the (\d+) jobs of the dead worker are finished", output.story)
    assert handed_on
    assert over
    assert len({*handed_on.groups(), *over.groups()}) == 1
    assert "0 jobs finished twice" in output.story
    assert "the books balance" in output.story
    assert max(map(len, output.story.splitlines())) <= 80


def test_demo_writes_its_history_to_a_lake_and_a_plot(output: DemoOutput) -> None:
    in_the_log = re.search(r"the event log has ([\d,]+) events", output.story)
    in_the_lake = re.search(r"^lake +([\d,]+) events copied into", output.story, re.MULTILINE)
    [picture] = re.findall(r"^ +(\S+\.png)$", output.story, re.MULTILINE)

    assert in_the_log
    assert in_the_lake
    assert in_the_log[1] == in_the_lake[1]
    assert (output.here / picture).read_bytes().startswith(b"\x89PNG")
    assert output.story.count("█") > 100
    lake = Lake.open(LocalFiles(output.here / ".headrace" / f"{NAMESPACE}-lake"))
    assert lake.snapshot().rows == int(in_the_lake[1].replace(",", ""))


def test_demo_without_spark_names_the_extra_and_exits_with_0(output: DemoOutput) -> None:
    assert output.found["history"] == {"needs": "pip install 'headrace[spark]'"}


def test_server_keeps_running_if_the_demo_is_interrupted_in_spark(here: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "demo", "--jobs", "200"],
        cwd=here,
        env=PLAIN,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout
        while not (line := running.stdout.readline()).startswith("spark "):
            assert line, "the demo ended before Spark started"
        running.send_signal(signal.SIGINT)
        story = running.stdout.read()

    assert running.returncode == 130
    assert "lake       stopped early" in story
    assert "What to try next" in story
    assert embedded.status(here / ".headrace") is not None


def test_json_output_is_one_object(output: DemoOutput) -> None:
    found = output.found

    assert found["recovered"] == len(found["kill"]["held"]) > 0
    assert found["over_twice"] == 0
    assert found["most_at_once"] == 2
    assert found["work"]["jobs"] == JOBS
    assert found["audit"]["balanced"] is True
    failures = found["failures"]
    assert {"PaymentTimeout", "MailServerBusy"} <= set(failures)


def test_demo_uses_its_own_namespace(output: DemoOutput) -> None:
    with headrace.connect(embedded.start(output.here / ".headrace"), namespace="mine") as hr:
        mine = hr.job(output.mine)

    names = {output.found["namespace"], *re.findall(rf"-n ({NAMESPACE}\S*)", output.story)}
    assert names == {NAMESPACE}
    assert mine is not None
    assert mine.state == "waiting"


def test_suggested_commands_work(output: DemoOutput) -> None:
    shown = [
        shlex.split(line)[1:]
        for line in output.story.partition("What to try next")[2].splitlines()
        if line.startswith("  headrace")
    ]
    asked = [arguments for arguments in shown if arguments[0] in ASKED]

    answers = {arguments[0]: command(output.here, *arguments) for arguments in asked}

    assert {
        name: (done.returncode, done.stderr) for name, done in answers.items()
    } == dict.fromkeys(ASKED, (0, ""))
    assert "CorruptPicture" in answers["failures"].stdout
    assert "lost" in answers["job"].stdout


def test_interrupted_demo_leaves_no_worker_server_or_data(
    here: Path,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "demo"],
        cwd=here,
        env=PLAIN,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout
        pids: list[str] = []
        while not pids:
            line = running.stdout.readline()
            assert line, "the demo ended before the workers started"
            pids = re.findall(r"pids (\d+) and (\d+)", line)
        running.send_signal(signal.SIGINT)
        running.stdout.read()

    assert running.returncode == 130
    assert all(gone(int(pid)) for pid in pids[0])
    assert embedded.status(here / ".headrace") is None
    with (
        open_environment(here / ".headrace") as place,
        headrace.connect(place.url, namespace=NAMESPACE) as hr,
    ):
        assert hr.queues() == {}


def test_demo_is_refused_while_another_demo_or_its_worker_runs(here: Path) -> None:
    with headrace.connect(embedded.start(here / ".headrace")) as other:
        other.queues()
        with open_environment(here / ".headrace") as first:
            workers = DemoWorkers(first, here / "log")
            workers.start()
            refused = command(here, "demo")
        try:
            with (
                pytest.raises(HeadraceError, match="another demo"),
                open_environment(here / ".headrace"),
            ):
                pass
        finally:
            workers.end()
        with open_environment(here / ".headrace"):
            pass

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "another demo is running in .headrace" in refused.stderr


def test_failed_demo_stops_the_server_unless_it_ran_before(here: Path) -> None:
    def fail(directory: Path) -> DemoEnvironment:
        with open_environment(directory):
            raise LookupError

    with pytest.raises(LookupError):
        fail(here / ".headrace")
    assert embedded.status(here / ".headrace") is None

    with headrace.connect(embedded.start(here / ".headrace")) as other:
        other.queues()
        with pytest.raises(LookupError):
            fail(here / ".headrace")
        assert embedded.status(here / ".headrace") is not None


def test_failure_is_one_line_and_exit_code_1(here: Path) -> None:
    (here / ".headrace").touch()

    output = command(here, "demo")

    assert (output.returncode, output.stdout) == (1, "")
    place = here / ".headrace"
    assert output.stderr == (
        f"headrace: cannot start a server in {place}: it is a file, not a directory\n"
    )


@pytest.mark.parametrize("wrong", [["--sideways"], ["--jobs", "3"], ["--jobs", "many"]])
def test_wrong_usage_exits_with_2(here: Path, wrong: list[str]) -> None:
    assert command(here, "demo", *wrong).returncode == 2


def event(second: float, kind: str, job_id: str, **more: str) -> Event:
    at = BEGUN + timedelta(seconds=second)
    return Event(0, 1, at, 1, kind, job_id, "mail", 1, more.pop("worker", ""), 0.0, **more)  # type: ignore[arg-type]


def test_recovery_is_measured_from_the_kill_to_the_next_delivery() -> None:
    events = [
        event(-1, "popped", "a", worker="dead"),
        event(3, "lost", "a", worker="dead"),
        event(3, "lost", "b", worker="dead"),
        event(3.5, "popped", "a", worker="ann"),
        event(9, "popped", "a", worker="bob"),
    ]

    [again] = report.recoveries(events, ["a", "b"], BEGUN)

    assert (again.job_id, again.lost_after, again.again_after, again.by) == ("a", 3, 3.5, "ann")


def test_most_at_once_is_computed_from_events() -> None:
    events = [
        event(0, "popped", "a"),
        event(1, "completed", "a"),
        event(1, "popped", "b"),
        event(2, "popped", "c"),
        event(3, "lost", "b"),
        event(4, "popped", "x"),
    ]

    assert report.most_at_once(events, dict.fromkeys("abc", "acme")) == {"acme": 2}


def test_failures_count_retried_attempts_and_failed_jobs() -> None:
    events = [
        event(0, "retried", "a", failure="Busy"),
        event(1, "failed", "a", failure="Busy"),
        event(2, "failed", "b", failure="Wrong"),
    ]

    assert report.failures(events) == {
        "Busy": {"retried": 1, "failed": 1},
        "Wrong": {"failed": 1},
    }
