"""The command `top`, piped and on a terminal."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import redis

import headrace
from headrace import Client
from headrace.operations.namespace_snapshot import (
    QUEUES,
)
from tests.cli.support.terminal import KEPT, MAIN, on_a_terminal
from tests.cli.support.views import work
from tests.support.restartable import restartable
from tests.support.servers import until


@pytest.fixture
def name() -> str:
    return f"top-{uuid4().hex[:8]}"


def top(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, "top", *arguments],
        cwd=cwd,
        env=KEPT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def busy(valkey_url: str, name: str) -> Iterator[Client]:
    with headrace.connect(valkey_url, namespace=name) as found:
        work(found, 10)
        yield found


def test_piped_output_is_one_picture(
    busy: Client, valkey_url: str, name: str, tmp_path: Path
) -> None:
    output = top("--url", valkey_url, "-n", name, "--interval", "0.1", cwd=tmp_path)

    assert (output.returncode, output.stderr) == (0, "")
    assert "\x1b" not in output.stdout
    assert any(line.split()[:2] == ["mail", "5"] for line in output.stdout.splitlines())
    assert "smtp" in output.stdout
    assert busy.core.namespace in output.stdout


def test_json_output_is_one_object(
    busy: Client, valkey_url: str, name: str, tmp_path: Path
) -> None:
    output = top("--url", valkey_url, "-n", name, "--interval", "0.1", "--json", cwd=tmp_path)

    found = json.loads(output.stdout)
    [row] = found["rows"]
    assert (row["name"], row["counts"]["waiting"], row["put"]) == ("mail", 5, 0.0)
    assert [worker["name"] for worker in found["workers"]] == ["ann"]
    assert busy.queue("mail").counts().waiting == 5


def test_unreachable_server_is_a_one_line_error(tmp_path: Path) -> None:
    output = top("--url", "redis://ann:secret@127.0.0.1:1", cwd=tmp_path)

    assert (output.returncode, output.stdout) == (1, "")
    assert len(output.stderr.splitlines()) == 1
    assert "secret" not in output.stderr


@pytest.mark.parametrize("interval", ["0", "-1", "x", "1e9"])
def test_invalid_interval_exits_with_2(interval: str, tmp_path: Path) -> None:
    assert top("--interval", interval, cwd=tmp_path).returncode == 2


def arguments(url: str, name: str) -> list[str]:
    return ["top", "--url", url, "-n", name, "--interval", "0.1"]


def test_keys_on_a_real_terminal(busy: Client, valkey_url: str, name: str, tmp_path: Path) -> None:
    busy.queue("archive").put("x")
    with on_a_terminal(*arguments(valkey_url, name), cwd=tmp_path) as terminal:
        terminal.until("archive")
        assert "\x1b[?1049h" in terminal.text
        terminal.press("s")
        terminal.until("by name")
        terminal.press("\x1b[B\r")
        terminal.until("put 1 in total, done 0")
        terminal.press("\r")
        terminal.until("smtp")
        terminal.press("p")
        terminal.until("view paused")
        terminal.press("?")
        terminal.until("next sort order")
        terminal.press("?p")
        terminal.until("by name  ? help")
        busy.queue("fresh").put("x")
        terminal.until("fresh")
        terminal.press("q")

        assert terminal.end() == 0
        assert terminal.is_restored()


@pytest.mark.parametrize(
    ("how", "code"),
    [("\x03", 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["ctrl-c", "terminate", "hang up"],
)
def test_terminal_is_restored_however_top_ends(
    busy: Client, valkey_url: str, name: str, tmp_path: Path, how: str | signal.Signals, code: int
) -> None:
    assert busy.queues()
    with on_a_terminal(*arguments(valkey_url, name), cwd=tmp_path) as terminal:
        terminal.until("mail")
        if isinstance(how, str):
            terminal.press(how)
        else:
            terminal.process.send_signal(how)

        assert terminal.end() == code
        assert terminal.is_restored()
        assert "Traceback" not in terminal.text


def test_pages_of_queues_on_a_real_terminal(valkey_url: str, name: str, tmp_path: Path) -> None:
    with headrace.connect(valkey_url, namespace=name) as hr:
        for number in range(QUEUES + 1):
            hr.queue(f"queue-{number:03}").configure(retries=1)
    with on_a_terminal(*arguments(valkey_url, name), cwd=tmp_path) as terminal:
        terminal.until("queue-000")
        terminal.press("\x1b[C")
        terminal.until(f"queue-{QUEUES}")
        terminal.press("\x1b[D")
        terminal.until("queue-000")
        terminal.press("q")

        assert terminal.end() == 0


def test_resize_is_drawn_at_once(busy: Client, valkey_url: str, name: str, tmp_path: Path) -> None:
    assert busy.queues()
    command = ["top", "--url", valkey_url, "-n", name, "--interval", "3600"]
    with on_a_terminal(*command, cwd=tmp_path, columns=40, lines=6) as terminal:
        assert "oldest" not in terminal.until("mail")
        terminal.resize(150, 30)
        terminal.until("oldest")
        terminal.press("q")

        assert terminal.end() == 0


def test_view_continues_when_the_server_returns(tmp_path: Path) -> None:
    with restartable() as server:
        with headrace.connect(server.url, namespace="shop") as hr:
            hr.queue("mail").put("x")
        with on_a_terminal(*arguments(server.url, "shop"), cwd=tmp_path) as terminal:
            terminal.until("mail")
            server.kill()
            terminal.until("trying again: the server did not answer in time")
            server.start()
            terminal.text = ""
            terminal.until("done/s 0.0")
            server.kill()
            terminal.text = ""
            terminal.until("trying again: the server did not answer in time")
            terminal.press("q")

            assert terminal.end() == 0
            assert terminal.is_restored()


def test_error_is_printed_after_the_terminal_is_restored(
    busy: Client, valkey_url: str, name: str, tmp_path: Path
) -> None:
    """Another program has overwritten a job record."""
    with on_a_terminal(*arguments(valkey_url, name), cwd=tmp_path) as terminal:
        terminal.until("mail")
        with redis.Redis.from_url(valkey_url) as direct:
            [waiting] = busy.queue("mail").peek(1)
            direct.set(f"hr:{{{name}:0}}:job:{waiting.id}", b"nonsense")

        assert terminal.end() == 1
        assert terminal.is_restored()
        until(
            lambda: "Traceback" in terminal.text or "headrace:" in terminal.text,
            "the error is printed",
        )
