"""The commands job, why and result."""

from __future__ import annotations

import pytest

import headrace
from headrace import Client, Queue
from tests.cli.conftest import RunCommand


def test_job_shows_attempts_errors_progress_and_log(cli: RunCommand, mail: Queue) -> None:
    mail.put({"to": "ada"}, id="ada", tags=["vip"], priority=-2, retries=3, key="acme")
    mail.put({"to": "all"}, id="after", depends_on=["ada"])
    [lease] = mail.pop("ann")
    lease.fail("smtp", "server busy", retry_in=0)
    [lease] = mail.pop("bob")
    lease.progress(0.25, "rendered")
    lease.log("took the second server")

    result = cli("job", "ada")

    facts = result.out.partition("\n\n")[0].splitlines()
    lines = dict(line.split(maxsplit=1) for line in facts)
    assert (lines["state"], lines["queue"], lines["worker"]) == ("running", "mail", "bob")
    assert lines["data"] == '{"to": "ada"}'
    assert lines["attempts"] == "2, 2 of 3 retries left"
    assert lines["progress"] == "25% rendered"
    assert (lines["tags"], lines["priority"], lines["key"]) == ("vip", "-2", "acme")
    assert lines["dependents"] == "after"
    assert "ann" in result.out
    assert "smtp     server busy" in result.out
    assert "took the second server" in result.out

    found = cli("job", "ada", "--json").json
    assert [stage["message"] for stage in found["history"]] == ["server busy", ""]
    assert (found["data"], found["note"], found["why"]) == ({"to": "ada"}, "rendered", None)
    assert found["log"][0][1] == "took the second server"

    blocked = cli("job", "after")
    assert "depends on  ada" in blocked.out
    assert "why         blocked: job ada not complete yet" in blocked.out
    assert cli("job", "after", "--json").json["why"] == "blocked: job ada not complete yet"


def test_why_explains_what_a_job_waits_for(cli: RunCommand, mail: Queue) -> None:
    mail.put(1, id="a")
    mail.pause()

    assert cli("why", "a").out == "queue mail is paused\n"
    assert cli("why", "a", "--json").json == {"id": "a", "why": "queue mail is paused"}


def test_result_is_printed_and_taken(cli: RunCommand, mail: Queue) -> None:
    mail.put({"to": "ada"}, id="ada")
    mail.pop("ann")[0].complete({"sent": True})

    assert cli("result", "ada").out == '{"sent": true}\n'
    assert cli("result", "ada", "--take", "--json").json == {
        "id": "ada", "value": {"sent": True}, "data": {"to": "ada"},
    }  # fmt: skip
    gone = cli("result", "ada", "--wait", "1ms")
    assert (gone.code, gone.out) == (1, "")
    assert "has no result" in gone.err


@pytest.mark.parametrize(
    "command", ["job", "why", "result", "cancel", "retry", "release", "timeout"]
)
def test_unknown_job_is_a_one_line_error(cli: RunCommand, command: str) -> None:
    result = cli(command, "nobody")

    assert result.code == 1
    assert result.err == (
        "headrace: job 'nobody' does not exist: "
        "it was never put, or it finished and is no longer kept\n"
    )


@pytest.mark.parametrize(
    "command", ["job", "why", "result", "cancel", "retry", "release", "timeout"]
)
def test_invalid_id_exits_with_2(cli: RunCommand, command: str) -> None:
    assert cli(command, "").code == 2
    assert cli(command, "x" * 300).code == 2
    assert cli(command).code == 2


def test_data_that_is_not_json_is_shown_as_bytes(
    cli: RunCommand, client: Client, valkey_url: str
) -> None:
    with headrace.connect(valkey_url, namespace=client.core.namespace, codec="raw") as raw:
        raw.queue("mail").put(b"\x80\x1b[31m'\xff", id="raw")
        text = repr(b"\x80\x1b[31m'\xff")[2:-1]

        assert text in cli("job", "raw").out
        assert text in cli("peek", "mail").out
        found = cli("job", "raw", "--json").json
        assert (found["data"], found["payload"]) == (None, text)
        [event] = [cli("events", "--json").json]
        assert (event["data"], event["payload"]) == (None, text)

        raw.queue("mail").pop("ann")[0].complete(b"\xfe")
    assert cli("result", "raw").out == "\\xfe\n"
    assert cli("result", "raw", "--json").json["payload"] == "\\xfe"


def test_control_characters_in_data_are_escaped(cli: RunCommand, mail: Queue) -> None:
    mail.put("\x9b2J\x7f [bold]", id="a", tags=["[red]"])
    [lease] = mail.pop("ann")
    lease.log("\x1b[2J gone\r")
    lease.progress(0.5, "\x1b]0;title\x07")
    lease.fail("smtp", "\x1b[2J")

    for words in (("job", "a"), ("jobs", "mail", "--state", "failed"), ("failures",), ("events",)):
        out = cli(*words).out
        assert out.replace("\n", "").isprintable()
    assert "[bold]" in cli("job", "a").out
    assert "\\x1b[2J gone\\r" in cli("job", "a").out
