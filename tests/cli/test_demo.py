"""`headrace demo`, as a user types it."""

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
from headrace.cli.demo import findings
from headrace.cli.demo.place import NAMESPACE, Place, opened
from headrace.cli.demo.workers import Workers
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory
from tests.support.processes import gone

# Spark takes its time where others work too.
pytestmark = pytest.mark.timeout(600)

PLAIN = os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "FORCE_COLOR": "", "PYTHONUTF8": "1"}
PROGRAM = "from headrace.cli.main import main; main()"
COMMAND = [sys.executable, "-c", PROGRAM]
# Can be interrupted, even if the tests run in the background of a shell, which has its programs
# ignore it.
INTERRUPTIBLE = """
import signal
from headrace.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
# As where the extra is not installed.
WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None
from headrace.cli.main import main
main()
"""
JOBS = 400
# What is typed after a demo and ends by itself; top does so where there is no terminal.
ASKED = ("failures", "job", "retry", "top")
BEGUN = datetime(2026, 11, 15, tzinfo=UTC)


@dataclass
class Told:
    """Two demos that ran in one place at once: what they told people, and programs.

    The latter could not use Spark.
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
def told() -> Iterator[Told]:
    with scratch_directory() as here:
        with headrace.connect(embedded.start(here / ".headrace"), namespace="mine") as hr:
            mine = hr.queue("mail").put("mine")
        people = begin(here, "demo", "--jobs", str(JOBS))
        programs = begin(here, "demo", "--jobs", str(JOBS), "--json", program=WITHOUT_SPARK)
        story, complaint = people.communicate()
        found, other_complaint = programs.communicate()
        assert (people.returncode, complaint) == (0, "")
        assert (programs.returncode, other_complaint) == (0, "")
        yield Told(here, story, json.loads(found), mine)
        embedded.stop(here / ".headrace")


def test_the_demo_shows_jobs_a_death_and_the_recovery(told: Told) -> None:
    words = re.findall(r"^([a-z]\S*(?: -9)?) ", told.story, re.MULTILINE)

    assert words == [
        *("put", "work", "kill -9", "recover", "replace", "drain", "numbers"),
        *("wait", "run", "failures", "recovered", "limits", "cron", "audit"),
        *("spark", "lake", "rollup", "sql", "plot", "equal"),
    ]  # fmt: skip
    handed_on = re.search(r"(\d+) of (\d+) jobs were handed to another worker", told.story)
    over = re.search(r"(\d+) of the (\d+) jobs of the dead worker are over", told.story)
    assert handed_on
    assert over
    assert len({*handed_on.groups(), *over.groups()}) == 1
    assert "0 jobs ended twice" in told.story
    assert "the books balance" in told.story
    assert max(map(len, told.story.splitlines())) <= 80


def test_the_demo_ends_with_its_history_in_a_lake_and_a_picture(told: Told) -> None:
    in_the_log = re.search(r"in the log, ([\d,]+) events", told.story)
    in_the_lake = re.search(r"^lake +([\d,]+) events are now", told.story, re.MULTILINE)
    [picture] = re.findall(r"^ +(\S+\.png)$", told.story, re.MULTILINE)

    assert in_the_log
    assert in_the_lake
    assert in_the_log[1] == in_the_lake[1]
    assert (told.here / picture).read_bytes().startswith(b"\x89PNG")
    assert told.story.count("█") > 100
    [namespace] = {*re.findall(rf"-n ({NAMESPACE}\S*)", told.story)}
    lake = Lake.open(LocalFiles(told.here / ".headrace" / f"{namespace}-lake"))
    assert lake.snapshot().rows == int(in_the_lake[1].replace(",", ""))


def test_where_spark_is_not_installed_the_demo_says_how_to_get_it_and_ends_well(told: Told) -> None:
    assert told.found["history"] == {"needs": "pip install 'headrace[spark]'"}


def test_who_ends_the_demo_while_spark_is_at_work_keeps_the_server(here: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "demo", "--jobs", "200"],
        cwd=here,
        env=PLAIN,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout
        while not (line := running.stdout.readline()).startswith("spark "):
            assert line, "the demo ended without Spark"
        running.send_signal(signal.SIGINT)
        story = running.stdout.read()

    assert running.returncode == 130
    assert "lake       ended early" in story
    assert "What to try next" in story
    assert embedded.status(here / ".headrace") is not None


def test_programs_are_told_in_one_object(told: Told) -> None:
    found = told.found

    assert found["recovered"] == len(found["kill"]["held"]) > 0
    assert found["over_twice"] == 0
    assert found["most_at_once"] == 2
    assert found["work"]["jobs"] == JOBS
    assert found["audit"]["balanced"] is True
    failures = found["failures"]
    assert {"PaymentTimeout", "MailServerBusy"} <= set(failures)


def test_two_demos_at_once_and_the_work_of_others_do_not_meet(told: Told) -> None:
    with headrace.connect(embedded.start(told.here / ".headrace"), namespace="mine") as hr:
        mine = hr.job(told.mine)

    names = {str(told.found["namespace"]), *re.findall(rf"-n ({NAMESPACE}\S*)", told.story)}
    assert names == {NAMESPACE, f"{NAMESPACE}-2"}
    assert mine is not None
    assert mine.state == "waiting"


def test_what_it_says_to_try_next_can_be_done(told: Told) -> None:
    shown = [
        shlex.split(line)[1:]
        for line in told.story.partition("What to try next")[2].splitlines()
        if line.startswith("  headrace")
    ]
    asked = [arguments for arguments in shown if arguments[0] in ASKED]

    answers = {arguments[0]: command(told.here, *arguments) for arguments in asked}

    assert {
        name: (done.returncode, done.stderr) for name, done in answers.items()
    } == dict.fromkeys(ASKED, (0, ""))
    assert "CorruptPicture" in answers["failures"].stdout
    assert "lost" in answers["job"].stdout


def test_an_interrupted_demo_leaves_no_worker_no_server_and_nothing_that_disturbs_the_next(
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
            assert line, "the demo ended without workers"
            pids = re.findall(r"pids (\d+) and (\d+)", line)
        running.send_signal(signal.SIGINT)
        running.stdout.read()

    assert running.returncode == 130
    assert all(gone(int(pid)) for pid in pids[0])
    assert embedded.status(here / ".headrace") is None
    with (
        opened(here / ".headrace") as place,
        headrace.connect(place.url, namespace=place.namespace) as hr,
    ):
        assert place.namespace == NAMESPACE
        assert hr.queues() == {}


def test_a_worker_that_outlives_its_demo_keeps_its_namespace(here: Path) -> None:
    with opened(here / ".headrace") as first:
        workers = Workers(first, here / "log")
        workers.start()
    try:
        with opened(here / ".headrace") as second:
            assert (first.namespace, second.namespace) == (NAMESPACE, f"{NAMESPACE}-2")
    finally:
        workers.end()
    with opened(here / ".headrace") as third:
        assert third.namespace == NAMESPACE


def test_a_demo_that_fails_stops_the_server_it_started_unless_others_use_it(here: Path) -> None:
    def fail(directory: Path) -> Place:
        with opened(directory):
            raise LookupError

    with pytest.raises(LookupError):
        fail(here / ".headrace")
    assert embedded.status(here / ".headrace") is None

    with headrace.connect(embedded.start(here / ".headrace")) as other:
        other.queues()
        with pytest.raises(LookupError):
            fail(here / ".headrace")
        assert embedded.status(here / ".headrace") is not None


def test_what_cannot_be_done_is_one_line_and_exit_code_1(here: Path) -> None:
    (here / ".headrace").touch()

    told = command(here, "demo")

    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr == (
        f"headrace: cannot start a server in {here / '.headrace'}: it is a file, not a directory\n"
    )


@pytest.mark.parametrize("wrong", [["--sideways"], ["--jobs", "3"], ["--jobs", "many"]])
def test_wrong_usage_is_exit_code_2(here: Path, wrong: list[str]) -> None:
    assert command(here, "demo", *wrong).returncode == 2


def event(second: float, kind: str, job_id: str, **more: str) -> Event:
    at = BEGUN + timedelta(seconds=second)
    return Event(0, 1, at, 1, kind, job_id, "mail", 1, more.pop("worker", ""), 0.0, **more)  # type: ignore[arg-type]


def test_a_recovery_is_measured_from_the_death_to_the_next_delivery() -> None:
    events = [
        event(-1, "popped", "a", worker="dead"),
        event(3, "lost", "a", worker="dead"),
        event(3, "lost", "b", worker="dead"),
        event(3.5, "popped", "a", worker="ann"),
        event(9, "popped", "a", worker="bob"),
    ]

    [again] = findings.recoveries(events, ["a", "b"], BEGUN)

    assert (again.job_id, again.lost_after, again.again_after, again.by) == ("a", 3, 3.5, "ann")


def test_how_many_ran_at_once_is_read_from_the_log() -> None:
    events = [
        event(0, "popped", "a"),
        event(1, "completed", "a"),
        event(1, "popped", "b"),
        event(2, "popped", "c"),
        event(3, "lost", "b"),
        event(4, "popped", "x"),
    ]

    assert findings.most_at_once(events, dict.fromkeys("abc", "acme")) == {"acme": 2}


def test_failures_are_counted_by_attempts_that_were_tried_again_and_jobs_set_aside() -> None:
    events = [
        event(0, "retried", "a", failure="Busy"),
        event(1, "failed", "a", failure="Busy"),
        event(2, "failed", "b", failure="Wrong"),
    ]

    assert findings.failures(events) == {
        "Busy": findings.Kind(retried=1, failed=1),
        "Wrong": findings.Kind(failed=1),
    }
