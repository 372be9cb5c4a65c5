"""The command put."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from headrace import Client, Queue
from tests.cli.conftest import RunCommand
from tests.support.servers import until

# Handles SIGINT even if a shell started the tests in the background, where SIGINT is ignored.
INTERRUPTIBLE = """
import signal
from headrace.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


def test_put_prints_the_id_and_applies_all_options(
    cli: RunCommand, client: Client, mail: Queue
) -> None:
    result = cli(
        *("put", "mail", '{"to": "ada"}', "--id", "ada", "--priority", "-1", "--delay", "10m"),
        *("--tag", "vip", "--tag", "new", "--retries", "2", "--key", "acme", "--unique-by", "u"),
    )

    assert (result.code, result.out, result.err) == (0, "ada\n", "")
    job = client.job("ada")
    assert job is not None
    assert (job.data, job.queue, job.state) == ({"to": "ada"}, "mail", "scheduled")
    assert (job.priority, job.tags, job.retries) == (-1, ["vip", "new"], 2)
    assert (job.key, job.unique) == ("acme", "u")
    assert mail.counts().due == 0


def test_put_with_json_prints_id_and_queue(cli: RunCommand) -> None:
    assert cli("put", "mail", "1", "--id", "a", "--json").json == {"id": "a", "queue": "mail"}


def test_put_without_id_generates_one(cli: RunCommand, client: Client) -> None:
    made = cli("put", "mail", "null").out.strip()

    assert client.job(made) is not None


def test_retries_none_means_no_limit(cli: RunCommand, client: Client) -> None:
    cli("put", "mail", "1", "--id", "a", "--retries", "none")

    job = client.job("a")
    assert job is not None
    assert job.retries is None


def test_put_with_a_dependency_is_blocked(cli: RunCommand, client: Client, mail: Queue) -> None:
    mail.put(1, id="first")

    cli("put", "mail", "2", "--id", "second", "--depends-on", "first")

    job = client.job("second")
    assert job is not None
    assert (job.state, job.depends_on) == ("blocked", ["first"])


def test_put_with_task_stores_the_task_name_and_the_arguments(
    cli: RunCommand, client: Client
) -> None:
    made = cli("put", "--task", "send", "mail", '{"to": "ada"}').out.strip()

    job = client.job(made)
    assert job is not None
    assert job.data == {"task": "send", "args": {"to": "ada"}}


def test_a_task_takes_its_arguments_by_name(cli: RunCommand, mail: Queue) -> None:
    result = cli("put", "--task", "send", "mail", "[1]")

    assert (result.code, result.out) == (2, "")
    assert "a JSON object of arguments" in result.err
    assert mail.length() == 0


def test_second_put_of_a_unique_job_is_refused(cli: RunCommand, mail: Queue) -> None:
    cli("put", "mail", '{"to": "ada"}', "--unique")

    result = cli("put", "mail", '{"to": "ada"}', "--unique")

    assert (result.code, result.out) == (1, "")
    assert len(result.err.splitlines()) == 1
    assert "unique value" in result.err
    assert mail.length() == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["hello"], "not JSON"),
        (['{"a": '], "not JSON"),
        (["[" * 100_000], "not JSON"),
        ([], "missing: pass DATA, or a file with --from"),
        (["1", "--from", "-"], "pass DATA or --from, not both"),
        (["1", "--unique", "--unique-by", "t"], "pass --unique or --unique-by, not both"),
        (["1", "--id-field", "n"], "--from"),
        (["--from", "-", "--id", "n"], "--id-field"),
        (["1", "--retries", "many"], "neither a number nor none"),
        (["1", "--delay", "soon"], "not a duration"),
        (["1", "--priority", "high"], "--priority"),
        (["1", "--on-exists", "explode"], "on_exists must be"),
        (["NaN"], "cannot be written as JSON"),
        (["--from", "no such file"], "cannot read"),
    ],
)
def test_invalid_put_exits_with_2_and_puts_nothing(
    cli: RunCommand, mail: Queue, words: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    result = cli("put", "mail", *words)

    assert (result.code, result.out) == (2, "")
    assert complaint in result.err
    assert mail.length() == 0


def lines_of(tmp_path: Path, *values: object) -> str:
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))
    return str(path)


def test_each_line_of_a_file_becomes_a_job_in_order(
    cli: RunCommand, mail: Queue, tmp_path: Path
) -> None:
    path = lines_of(tmp_path, *({"n": n} for n in range(600)))

    result = cli("put", "mail", "--from", path, "--tag", "bulk")

    assert (result.code, result.out, result.err) == (0, "600 jobs put into mail\n", "")
    jobs = mail.peek(600)
    assert [job.data["n"] for job in jobs] == list(range(600))
    assert jobs[0].tags == ["bulk"]


def test_lines_from_stdin_are_put_and_blank_lines_skipped(
    cli: RunCommand, mail: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(b'{"n": 1}\n\n  \n{"n": 2}'), isatty=lambda: False)
    monkeypatch.setattr("sys.stdin", stdin)

    result = cli("put", "mail", "--from", "-", "--json")

    assert result.json == {"queue": "mail", "put": 2, "known": 0}
    assert [job.data for job in mail.peek(5)] == [{"n": 1}, {"n": 2}]


def test_lines_can_be_the_arguments_of_a_task(cli: RunCommand, mail: Queue, tmp_path: Path) -> None:
    cli("put", "mail", "--task", "send", "--from", lines_of(tmp_path, {"to": "ada"}))

    assert mail.peek()[0].data == {"task": "send", "args": {"to": "ada"}}


def test_a_file_with_ids_may_be_put_again(cli: RunCommand, mail: Queue, tmp_path: Path) -> None:
    first = lines_of(tmp_path, {"n": 1}, {"n": "two"}, {"n": 1})
    result = cli("put", "mail", "--from", first, "--id-field", "n")
    assert result.out == "2 jobs put into mail, 1 line skipped (id exists)\n"
    [lease] = mail.pop("ann")
    lease.complete()

    again = lines_of(tmp_path, {"n": 1}, {"n": "two"}, {"n": 3})
    result = cli("put", "mail", "--from", again, "--id-field", "n")

    assert result.out == "1 job put into mail, 2 lines skipped (id exists)\n"
    assert [job.id for job in mail.peek(5)] == ["two", "3"]


@pytest.mark.parametrize("line", ["nonsense", "[", '{"m": 1}', '{"n": null}', '{"n": true}', "7"])
def test_lines_before_an_invalid_line_are_put_and_counted(
    cli: RunCommand, mail: Queue, tmp_path: Path, line: str
) -> None:
    path = Path(lines_of(tmp_path, {"n": 1}, {"n": 2}))
    path.write_text(f'{path.read_text()}{line}\n{{"n": 3}}\n')

    result = cli("put", "mail", "--from", str(path), "--id-field", "n")

    assert (result.code, result.out) == (1, "")
    assert "cannot put line 3" in result.err
    assert (
        "; 2 jobs put; correct the line, then run the same command to put the remaining lines"
        in result.err
    )
    assert [job.id for job in mail.peek(5)] == ["1", "2"]


def test_too_large_line_is_reported_by_number(cli: RunCommand, mail: Queue, tmp_path: Path) -> None:
    path = Path(lines_of(tmp_path, *range(253), "x" * (2 << 20), "later"))
    path.write_text(f"\n\n{path.read_text()}")

    result = cli("put", "mail", "--from", str(path))

    assert result.code == 1
    assert "cannot put line 256: a payload may have" in result.err
    assert result.err.endswith("; 253 jobs put\n")
    assert mail.length() == 253


def test_line_with_an_invalid_job_is_reported_by_number(
    cli: RunCommand, mail: Queue, tmp_path: Path
) -> None:
    path = lines_of(tmp_path, {"n": "a"}, {"n": "b"}, {"n": "c"})

    result = cli("put", "mail", "--from", path, "--id-field", "n", "--depends-on", "b")

    assert result.code == 1
    assert "cannot put line 2: " in result.err
    assert "; 1 job put; correct the line, then" in result.err
    assert mail.length() == 1


def test_interrupted_put_reports_the_number_of_jobs(
    client: Client, mail: Queue, valkey_url: str
) -> None:
    """The interrupt arrives while stdin is still open."""
    command = [sys.executable, "-c", INTERRUPTIBLE]
    words = ["put", "mail", "--from", "-", "--id-field", "n"]
    env = {"HEADRACE_URL": valkey_url, "HEADRACE_NAMESPACE": client.core.namespace}
    with subprocess.Popen(
        [*command, *words], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | env
    ) as process:
        assert process.stdin
        process.stdin.write(b"".join(b'{"n": %d}\n' % n for n in range(251)))
        process.stdin.flush()
        until(lambda: mail.length() == 250, "the first 250 jobs are put")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()

    assert process.returncode == 130
    assert (
        err
        == b"headrace: interrupted, 250 jobs put; run the same command to put the remaining lines\n"
    )
    assert mail.length() == 250
