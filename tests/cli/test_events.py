"""The command events."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from uuid import uuid4

import pytest

import headrace
from headrace import Client, Queue
from headrace.cli import events as module
from tests.cli.conftest import RunCommand, fail


def kinds(said_out: str) -> list[str]:
    return [json.loads(line)["kind"] for line in said_out.splitlines()]


def test_newest_events_are_shown_oldest_first(cli: RunCommand, mail: Queue) -> None:
    assert cli("events").out == ""
    mail.put({"to": "ada"}, id="ada")
    fail(mail, "smtp", "server busy")

    result = cli("events")

    lines = result.out.splitlines()
    assert [line.split()[2] for line in lines] == ["put", "popped", "failed"]
    assert lines[2].endswith("mail  ada  attempt 1  ann  smtp: server busy")
    assert kinds(cli("events", "--count", "2", "--json").out) == ["popped", "failed"]
    assert json.loads(cli("events", "--json").out.splitlines()[0])["data"] == {"to": "ada"}
    assert cli("events", "--count", "0").out == ""


def test_events_are_filtered_by_queue_job_and_kind(
    cli: RunCommand, client: Client, mail: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 3)
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(9)])
    client.queue("reports").put(1, id="report")
    fail(mail, "smtp", "")

    def found(*words: str) -> list[tuple[str, str]]:
        lines = cli("events", "--json", *words).out.splitlines()
        return [(event["job_id"], event["kind"]) for event in map(json.loads, lines)]

    assert found("--queue", "reports") == [("report", "put")]
    assert found("--job", "job-0", "--count", "2") == [("job-0", "popped"), ("job-0", "failed")]
    assert found("--kind", "put", "--count", "3") == [
        ("job-7", "put"), ("job-8", "put"), ("report", "put"),
    ]  # fmt: skip
    assert found("--kind", "failed", "--kind", "popped", "--queue", "mail") == [
        ("job-0", "popped"), ("job-0", "failed"),
    ]  # fmt: skip
    assert len(found("--count", "1000")) == 12


def test_unknown_kind_exits_with_2(cli: RunCommand) -> None:
    result = cli("events", "--kind", "exploded")

    assert (result.code, result.out) == (2, "")
    assert "exploded" in result.err


def test_events_of_several_shards_are_sorted_by_time(cli: RunCommand, valkey_url: str) -> None:
    name = f"cli-{uuid4().hex[:12]}"
    with headrace.connect(valkey_url, namespace=name, shards=3) as client:
        for n in range(12):
            client.queue("mail").put(n, id=f"job-{n}")

    lines = cli("events", "-n", name, "--count", "5", "--json").out.splitlines()

    moments = [json.loads(line)["at"] for line in lines]
    assert len(lines) == 5
    assert moments == sorted(moments)


def test_follow_prints_new_events_until_ctrl_c(
    client: Client, mail: Queue, valkey_url: str
) -> None:
    mail.put(1, id="before")
    command = [sys.executable, "-c", "from headrace.cli.main import main; main()"]
    env = {"HEADRACE_URL": valkey_url, "HEADRACE_NAMESPACE": client.core.namespace}
    with subprocess.Popen(
        [*command, "events", "--follow", "--json", "--queue", "mail"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | env,
    ) as process:
        assert process.stdout
        output = [json.loads(process.stdout.readline())["job_id"]]
        client.queue("reports").put(1, id="elsewhere")
        mail.put(2, id="after")
        output.append(json.loads(process.stdout.readline())["job_id"])
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate()

    assert (output, rest, err) == (["before", "after"], "", "")
    assert process.returncode == 130
