"""Tables, confirmations and progress bars on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace import Client, Queue
from tests.cli.conftest import fail

COMMAND = [sys.executable, "-c", "from headrace.cli.main import main; main()"]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")

Typed = Callable[..., tuple[int, str]]


@pytest.fixture
def at_terminal(client: Client, valkey_url: str) -> Typed:
    """Run a command on a terminal, type an answer, and return the exit code and the output."""
    env = {
        **os.environ,
        "HEADRACE_URL": valkey_url,
        "HEADRACE_NAMESPACE": client.core.namespace,
        "COLUMNS": "70",
        "TERM": "xterm",
    }

    def run(*words: str, answer: str = "") -> tuple[int, str]:
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [*COMMAND, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=env
        ) as process:
            os.close(theirs)
            os.write(ours, answer.encode())
            shown = b""
            while part := _read(ours):
                shown += part
        os.close(ours)
        return process.returncode, ESCAPES.sub("", shown.decode()).replace("\r\n", "\n")

    return run


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux reports EIO after the other end is closed.
        return b""


def test_table_fits_the_terminal_and_ids_are_not_cut(at_terminal: Typed, mail: Queue) -> None:
    job_id = "a-rather-long-id-that-must-not-be-cut"
    mail.put({"text": "word " * 200}, id=job_id)

    code, shown = at_terminal("peek", "mail")

    assert code == 0
    assert job_id in shown
    assert max(map(len, shown.splitlines())) <= 70
    assert "…" in shown


@pytest.mark.parametrize("words", ["jobs mail --state failed", "failures", "failures smtp"])
def test_each_row_is_one_line_and_ids_are_not_cut(
    at_terminal: Typed, mail: Queue, words: str
) -> None:
    job_id = "0123456789abcdef01234567"
    mail.put({"text": "word " * 200}, id=job_id)
    fail(mail, "smtp", "the server did not answer in time, " * 9)

    code, shown = at_terminal(*words.split())

    assert code == 0
    rows = [line for line in shown.splitlines() if job_id in line]
    assert len(rows) == 1
    assert "…" in rows[0]
    # The output is the heading, a rule, the row and the total. No line is wrapped.
    assert len([line for line in shown.splitlines() if line.strip()]) <= 4


def test_schedule_is_one_line(at_terminal: Typed, mail: Queue) -> None:
    mail.schedule("nightly", {"text": "word " * 50}, cron="0 3 * * *", zone="Europe/Berlin")

    code, shown = at_terminal("schedules")

    assert code == 0
    assert len([line for line in shown.splitlines() if line.strip()]) == 3


def test_cancel_of_many_jobs_needs_a_yes(at_terminal: Typed, mail: Queue) -> None:
    mail.put_many([1, 2])
    words = ("cancel", "--queue", "mail", "--state", "waiting")

    code, shown = at_terminal(*words, answer="n\n")
    assert code == 1
    assert "Cancel 2 jobs? [y/N]" in shown
    assert mail.length() == 2

    code, shown = at_terminal(*words, answer="y\n")
    assert (code, mail.length()) == (0, 0)
    assert shown.endswith("2 jobs cancelled\n")


def test_retry_of_many_jobs_needs_a_yes_or_the_option(
    at_terminal: Typed, client: Client, mail: Queue
) -> None:
    mail.put_many([1, 2])
    fail(mail, "smtp", "", times=2)

    code, shown = at_terminal("retry", "--failure", "smtp", answer="\n")
    assert code == 1
    assert "Retry 2 jobs? [y/N]" in shown
    assert client.failures.counts() == {"smtp": 2}

    code, shown = at_terminal("retry", "--failure", "smtp", "--yes")
    assert code == 0
    assert "?" not in shown
    assert client.failures.counts() == {}


def test_cancel_by_id_does_not_ask(at_terminal: Typed, mail: Queue) -> None:
    mail.put(1, id="a")

    code, shown = at_terminal("cancel", "a")

    assert code == 0
    assert "?" not in shown


def test_put_from_a_file_shows_a_progress_bar(
    at_terminal: Typed, mail: Queue, tmp_path: Path
) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text("1\n" * 600)

    code, shown = at_terminal("put", "mail", "--from", str(path))

    assert code == 0
    assert "1200/1200" in shown
    assert shown.endswith("600 jobs put into mail\n")
    assert mail.length() == 600


def test_job_shows_the_traceback(at_terminal: Typed, mail: Queue) -> None:
    mail.put(1, id="a")
    trace = "Traceback\n  File 'a.py'\x1b[2J\nOSError"
    mail.pop("ann")[0].fail("OSError", "[bold]", traceback=trace)

    code, shown = at_terminal("job", "a")

    assert code == 0
    assert "[bold]" in shown
    assert "  File 'a.py'\\x1b[2J\nOSError\n" in shown


def test_cancel_without_matching_jobs_does_not_ask(at_terminal: Typed, mail: Queue) -> None:
    mail.put(1)

    code, shown = at_terminal("cancel", "--queue", "mail", "--state", "failed")

    assert (code, shown) == (0, "0 jobs cancelled\n")
