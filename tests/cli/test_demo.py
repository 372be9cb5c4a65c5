"""`headrace demo`, as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace.cli.demo import _server
from headrace.client import embedded
from headrace.client.scratch import scratch_directory
from headrace.engine.events import KINDS

Told = list[subprocess.CompletedProcess[str]]

PLAIN = os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "FORCE_COLOR": ""}
COMMAND = [sys.executable, "-c", "from headrace.cli.main import main; main()", "demo"]

# Stands still after the step `die` until it is interrupted, however busy the machine is; and can be
# interrupted, even if the tests run in the background of a shell, which has its programs ignore it.
HELD = """
import signal, sys
from headrace.cli.main import main

write = sys.stdout.write

def write_and_wait(text):
    written = write(text)
    if any(line.startswith("die") for line in text.splitlines()):
        sys.stdout.flush()
        sys.stdin.readline()
    return written

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.stdout.write = write_and_wait
main()
"""


@pytest.fixture
def here() -> Iterator[Path]:
    with scratch_directory() as path:
        yield path
        embedded.stop(path / ".headrace")


def demo(here: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=here, env=PLAIN, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    """Two demos in one place, the second for programs."""
    with scratch_directory() as path:
        outcomes = [demo(path), demo(path, "--json")]
        left = embedded.status(path / ".headrace")
        embedded.stop(path / ".headrace")
        assert left is None, "a demo stops the server that it started"
        yield outcomes


def test_the_demo_tells_its_story_and_says_what_to_try_next(told: Told) -> None:
    story = told[0].stdout

    assert (told[0].returncode, told[0].stderr) == (0, "")
    assert "ann was given letter-2 and completed it, on attempt 3" in story
    assert "session ended" in story
    assert "the books balance" in story
    assert "What to try next" in story
    assert max(map(len, story.splitlines())) <= 80


def test_the_demo_tells_programs_everything_and_nothing_of_an_earlier_demo(told: Told) -> None:
    found = json.loads(told[1].stdout)

    steps = [step["step"] for step in found["steps"]]
    assert steps[:4] == ["put", "pop", "heartbeat", "complete"]
    assert {"fail", "retry", "die", "recover", "counts", "stats", "audit"} <= set(steps)
    assert {event["kind"] for event in found["events"]} <= set(KINDS)
    assert [event["kind"] for event in found["events"] if event["job_id"] == "letter-2"] == [
        "put", "popped", "failed", "unfailed", "popped", "lost", "popped", "completed",
    ]  # fmt: skip
    assert found["counts"]["complete"] == 3
    assert found["audit"] == {"queues": 1, "jobs": 3, "problems": [], "balanced": True}


def test_programs_are_told_the_same_as_people(told: Told) -> None:
    for step in json.loads(told[1].stdout)["steps"]:
        assert f"{step['step']:<10} {step['says']}\n" in told[0].stdout


def test_the_demo_leaves_a_running_server_and_the_work_of_others_alone(here: Path) -> None:
    url = embedded.start(here / ".headrace")
    running = embedded.status(here / ".headrace")
    with headrace.connect(url) as hr:
        hr.queue("mail").put("mine", id="mine")

        assert demo(here).returncode == 0
        assert demo(here, "--directory", "elsewhere").returncode == 0

        assert (here / "elsewhere").is_dir()
        assert embedded.status(here / ".headrace") == running
        assert hr.queue("mail").counts().waiting == 1


def test_an_interrupted_demo_leaves_no_server_and_nothing_that_disturbs_the_next(
    here: Path,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HELD, "demo"],
        cwd=here,
        env=PLAIN,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout
        while not (told := running.stdout.readline()).startswith("die"):
            assert told, "the demo ended without this step"
        running.send_signal(signal.SIGINT)
        running.stdout.read()

    assert running.returncode == 130
    assert embedded.status(here / ".headrace") is None
    assert demo(here, "--directory", ".headrace").returncode == 0


def test_what_cannot_be_done_is_one_line_and_exit_code_1(here: Path) -> None:
    (here / ".headrace").touch()

    told = demo(here)

    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr == f"headrace: {here / '.headrace'} is a file, not a directory\n"


def test_wrong_usage_is_exit_code_2(here: Path) -> None:
    assert demo(here, "--sideways").returncode == 2


def test_a_server_that_others_have_come_to_use_is_left_running(tmp_path: Path) -> None:
    try:
        with _server(tmp_path / "home") as url:
            other = headrace.connect(url)
        assert embedded.status(tmp_path / "home") is not None
        other.queue("mail").put("still there")
        other.close()

        with _server(tmp_path / "home"):
            pass
        assert embedded.status(tmp_path / "home") is not None
    finally:
        embedded.stop(tmp_path / "home")

    with _server(tmp_path / "home"):
        pass
    assert embedded.status(tmp_path / "home") is None
