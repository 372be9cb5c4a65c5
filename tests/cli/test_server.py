"""The commands up and down."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
import redis

from headrace.local_server import embedded
from headrace.local_server.scratch import scratch_directory


@pytest.fixture
def here() -> Iterator[Path]:
    with scratch_directory() as path:
        yield path
        embedded.stop(path / ".headrace")


def headrace(here: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from headrace.cli.main import main; main()", *arguments]
    return subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)


def test_up_prints_the_url_of_a_server_that_keeps_running(here: Path) -> None:
    up = headrace(here, "up")

    assert up.returncode == 0
    with redis.Redis.from_url(up.stdout.strip()) as server:
        assert server.ping()
    assert headrace(here, "up").stdout == up.stdout
    assert (here / ".headrace").is_dir()


def test_up_with_json_prints_pid_url_and_directory(here: Path) -> None:
    found = json.loads(headrace(here, "up", "--json").stdout)

    running = embedded.status(here / ".headrace")
    assert running
    assert found == {
        "pid": running.pid,
        "url": running.url,
        "directory": str(running.directory),
    }


def test_down_stops_the_server_and_succeeds_if_none_runs(here: Path) -> None:
    headrace(here, "up")

    first = headrace(here, "down")
    second = headrace(here, "down")

    assert (first.returncode, first.stdout) == (0, "The server is stopped; its data is kept.\n")
    assert (second.returncode, second.stdout) == (0, "No server was running.\n")


def test_down_with_json_reports_what_it_did(here: Path) -> None:
    headrace(here, "up")
    place = str(here / ".headrace")

    stopped = [json.loads(headrace(here, "down", "--json").stdout) for _ in range(2)]

    assert stopped == [{"stopped": done, "directory": place} for done in (True, False)]


def test_directory_option(here: Path) -> None:
    up = headrace(here, "up", "--directory", "elsewhere")

    assert up.stdout == f"unix://{here}/elsewhere/server.sock\n"
    assert not (here / ".headrace").exists()
    assert headrace(here, "down", "--directory", "elsewhere").returncode == 0


def test_failure_is_one_line_and_exit_code_1(here: Path) -> None:
    (here / ".headrace").touch()

    up = headrace(here, "up")

    assert (up.returncode, up.stdout) == (1, "")
    place = here / ".headrace"
    assert up.stderr == (
        f"headrace: cannot start a server in {place}: it is a file, not a directory\n"
    )


def test_long_error_is_printed_as_one_line(here: Path) -> None:
    embedded.start(here / ".headrace")
    embedded.stop(here / ".headrace")
    [manifest] = here.glob(".headrace/appendonlydir/*.manifest")
    manifest.write_text("nonsense\n")

    up = headrace(here, "up")

    assert up.returncode == 1
    assert len(up.stderr.splitlines()) == 1
    assert "manifest" in up.stderr


@pytest.mark.parametrize("arguments", [["up", "--sideways"], ["sideways"]])
def test_wrong_usage_exits_with_2(here: Path, arguments: list[str]) -> None:
    assert headrace(here, *arguments).returncode == 2


def test_version_is_that_of_the_package(here: Path) -> None:
    shown = headrace(here, "--version")

    assert (shown.returncode, shown.stdout.strip()) == (0, version("headrace"))
