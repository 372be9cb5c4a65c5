"""`headrace put`."""

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
from tests.cli.conftest import Type
from tests.support.servers import until


def test_put_prints_the_id_and_the_job_has_all_that_was_given(
    typed: Type, client: Client, mail: Queue
) -> None:
    said = typed(
        *("put", "mail", '{"to": "ada"}', "--id", "ada", "--priority", "-1", "--delay", "10m"),
        *("--tag", "vip", "--tag", "new", "--retries", "2", "--key", "acme", "--unique-by", "u"),
    )

    assert (said.code, said.out, said.err) == (0, "ada\n", "")
    job = client.job("ada")
    assert job is not None
    assert (job.data, job.queue, job.state) == ({"to": "ada"}, "mail", "scheduled")
    assert (job.priority, job.tags, job.retries) == (-1, ["vip", "new"], 2)
    assert (job.key, job.unique) == ("acme", "u")
    assert mail.counts().due == 0


def test_put_tells_programs_the_id(typed: Type) -> None:
    assert typed("put", "mail", "1", "--id", "a", "--json").json == {"id": "a", "queue": "mail"}


def test_put_makes_an_id_where_none_is_given(typed: Type, client: Client) -> None:
    made = typed("put", "mail", "null").out.strip()

    assert client.job(made) is not None


def test_retries_none_is_without_limit(typed: Type, client: Client) -> None:
    typed("put", "mail", "1", "--id", "a", "--retries", "none")

    job = client.job("a")
    assert job is not None
    assert job.retries is None


def test_put_depends_on_others(typed: Type, client: Client, mail: Queue) -> None:
    mail.put(1, id="first")

    typed("put", "mail", "2", "--id", "second", "--depends-on", "first")

    job = client.job("second")
    assert job is not None
    assert (job.state, job.depends_on) == ("blocked", ["first"])


def test_a_task_is_put_in_its_envelope(typed: Type, client: Client) -> None:
    made = typed("put", "--task", "send", "mail", '{"to": "ada"}').out.strip()

    job = client.job(made)
    assert job is not None
    assert job.data == {"task": "send", "args": {"to": "ada"}}


def test_a_task_takes_its_arguments_by_name(typed: Type, mail: Queue) -> None:
    said = typed("put", "--task", "send", "mail", "[1]")

    assert (said.code, said.out) == (2, "")
    assert "arguments by name" in said.err
    assert mail.length() == 0


def test_what_is_unique_is_refused_the_second_time(typed: Type, mail: Queue) -> None:
    typed("put", "mail", '{"to": "ada"}', "--unique")

    said = typed("put", "mail", '{"to": "ada"}', "--unique")

    assert (said.code, said.out) == (1, "")
    assert len(said.err.splitlines()) == 1
    assert "unique value" in said.err
    assert mail.length() == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["hello"], "not JSON"),
        (['{"a": '], "not JSON"),
        (["[" * 100_000], "not JSON"),
        ([], "DATA or --from"),
        (["1", "--from", "-"], "DATA or --from"),
        (["1", "--id-field", "n"], "--from"),
        (["--from", "-", "--id", "n"], "--id-field"),
        (["1", "--retries", "many"], "neither a number nor none"),
        (["1", "--delay", "soon"], "not a span"),
        (["1", "--priority", "high"], "--priority"),
        (["1", "--on-exists", "explode"], "on_exists must be"),
        (["NaN"], "cannot be written as JSON"),
        (["--from", "no such file"], "cannot be read"),
    ],
)
def test_what_makes_no_sense_is_exit_code_2_and_puts_nothing(
    typed: Type, mail: Queue, words: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    said = typed("put", "mail", *words)

    assert (said.code, said.out) == (2, "")
    assert complaint in said.err
    assert mail.length() == 0


def lines_of(tmp_path: Path, *values: object) -> str:
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))
    return str(path)


def test_each_line_of_a_file_becomes_a_job_in_order(
    typed: Type, mail: Queue, tmp_path: Path
) -> None:
    path = lines_of(tmp_path, *({"n": n} for n in range(600)))

    said = typed("put", "mail", "--from", path, "--tag", "bulk")

    assert (said.code, said.out, said.err) == (0, "600 jobs put into mail\n", "")
    jobs = mail.peek(600)
    assert [job.data["n"] for job in jobs] == list(range(600))
    assert jobs[0].tags == ["bulk"]


def test_lines_may_come_from_stdin_and_blank_ones_are_passed_over(
    typed: Type, mail: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(b'{"n": 1}\n\n  \n{"n": 2}'), isatty=lambda: False)
    monkeypatch.setattr("sys.stdin", stdin)

    said = typed("put", "mail", "--from", "-", "--json")

    assert said.json == {"queue": "mail", "put": 2, "known": 0}
    assert [job.data for job in mail.peek(5)] == [{"n": 1}, {"n": 2}]


def test_lines_can_be_the_arguments_of_a_task(typed: Type, mail: Queue, tmp_path: Path) -> None:
    typed("put", "mail", "--task", "send", "--from", lines_of(tmp_path, {"to": "ada"}))

    assert mail.peek()[0].data == {"task": "send", "args": {"to": "ada"}}


def test_a_file_with_ids_may_be_put_again(typed: Type, mail: Queue, tmp_path: Path) -> None:
    first = lines_of(tmp_path, {"n": 1}, {"n": "two"}, {"n": 1})
    said = typed("put", "mail", "--from", first, "--id-field", "n")
    assert said.out == "2 jobs put into mail, 1 line known already\n"
    [lease] = mail.pop("ann")
    lease.complete()

    again = lines_of(tmp_path, {"n": 1}, {"n": "two"}, {"n": 3})
    said = typed("put", "mail", "--from", again, "--id-field", "n")

    assert said.out == "1 job put into mail, 2 lines known already\n"
    assert [job.id for job in mail.peek(5)] == ["two", "3"]


@pytest.mark.parametrize("line", ["nonsense", "[", '{"m": 1}', '{"n": null}', '{"n": true}', "7"])
def test_what_is_before_a_line_that_cannot_be_put_is_put_and_counted(
    typed: Type, mail: Queue, tmp_path: Path, line: str
) -> None:
    path = Path(lines_of(tmp_path, {"n": 1}, {"n": 2}))
    path.write_text(f'{path.read_text()}{line}\n{{"n": 3}}\n')

    said = typed("put", "mail", "--from", str(path), "--id-field", "n")

    assert (said.code, said.out) == (1, "")
    assert "line 3 cannot be put" in said.err
    assert "; 2 jobs put; correct it, then the same command puts the rest" in said.err
    assert [job.id for job in mail.peek(5)] == ["1", "2"]


def test_a_line_that_is_too_large_is_told_by_its_number_and_those_before_it_are_put(
    typed: Type, mail: Queue, tmp_path: Path
) -> None:
    path = Path(lines_of(tmp_path, *range(253), "x" * (2 << 20), "later"))
    path.write_text(f"\n\n{path.read_text()}")

    said = typed("put", "mail", "--from", str(path))

    assert said.code == 1
    assert "line 256 cannot be put: a payload may have" in said.err
    assert said.err.endswith("; 253 jobs put\n")
    assert mail.length() == 253


def test_a_line_whose_job_cannot_be_is_told_by_its_number(
    typed: Type, mail: Queue, tmp_path: Path
) -> None:
    path = lines_of(tmp_path, {"n": "a"}, {"n": "b"}, {"n": "c"})

    said = typed("put", "mail", "--from", path, "--id-field", "n", "--depends-on", "b")

    assert said.code == 1
    assert "line 2 cannot be put: " in said.err
    assert "; 1 job put; correct it, then" in said.err
    assert mail.length() == 1


def test_an_interrupted_put_tells_how_many_were_put(
    client: Client, mail: Queue, valkey_url: str
) -> None:
    """It is in the middle of a stream that does not end."""
    command = [sys.executable, "-c", "from headrace.cli.main import main; main()"]
    words = ["put", "mail", "--from", "-", "--id-field", "n"]
    env = {"HEADRACE_URL": valkey_url, "HEADRACE_NAMESPACE": client.core.namespace}
    with subprocess.Popen(
        [*command, *words], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | env
    ) as process:
        assert process.stdin
        process.stdin.write(b"".join(b'{"n": %d}\n' % n for n in range(251)))
        process.stdin.flush()
        until(lambda: mail.length() == 250, "the first step is put")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()

    assert process.returncode == 130
    assert err == b"headrace: interrupted, 250 jobs put; the same command puts the rest\n"
    assert mail.length() == 250
