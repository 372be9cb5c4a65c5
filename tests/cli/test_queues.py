"""The commands that list, pause and resume queues, and list schedules."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from headrace import Client, Queue
from tests.cli.conftest import RunCommand, fail


def test_queues_are_listed_with_their_counts(cli: RunCommand, client: Client, mail: Queue) -> None:
    mail.put_many([1, 2])
    mail.pop("ann")
    client.queue("reports").pause()

    result = cli("queues")

    assert (result.code, result.err) == (0, "")
    assert result.rows == [
        ["queue", "waiting", "scheduled", "blocked", "running", "late", "failed", "complete"],
        ["mail", "1", "0", "0", "1", "0", "0", "0"],
        ["reports", "0", "0", "0", "0", "0", "0", "0", "paused"],
    ]
    assert cli("queues", "--json").json["queues"]["mail"] == asdict(mail.counts())


def test_namespace_without_queues_is_reported(cli: RunCommand) -> None:
    assert "no queues yet" in cli("queues").out
    assert cli("queues", "--json").json == {"queues": {}}


@pytest.mark.parametrize(
    "words",
    [
        ("peek", "mial"),
        ("jobs", "mial"),
        ("stats", "mial"),
        ("pause", "mial"),
        ("resume", "mail", "mial"),
        ("configure", "mial"),
        ("cancel", "--queue", "mial", "--state", "waiting"),
        ("cancel", "--queue", "mial", "--matching", "1"),
    ],
)
def test_unknown_queue_is_a_one_line_error(
    cli: RunCommand, client: Client, mail: Queue, words: tuple[str, ...]
) -> None:
    mail.pause()

    result = cli(*words)

    assert (result.code, result.out) == (1, "")
    assert result.err == "headrace: queue 'mial' does not exist; the first put creates it\n"
    assert list(client.queues()) == ["mail"], "nothing is made by looking"
    assert mail.counts().paused, "and a refused command does nothing"


def test_lists_hint_at_more_rows(cli: RunCommand, client: Client) -> None:
    for name in ("a", "b", "c"):
        queue = client.queue(name)
        queue.put(1, tags=[name])
        fail(queue, name, "")
        queue.schedule(name, 1, every=60, delay=3600)
        client.session(name)

    for command in ("queues", "tags", "failures", "schedules", "workers"):
        some, rest = cli(command, "--count", "2"), cli(command, "--count", "2", "--offset", "1")
        assert (command, some.code, some.err) == (
            command,
            0,
            "there are more; continue with --offset 2\n",
        )
        assert (command, rest.code, rest.err) == (command, 0, "")
        output = cli(command, "--count", "2", "--json")
        assert len(output.json[command]) == 2


def test_pause_and_resume(cli: RunCommand, client: Client, mail: Queue) -> None:
    reports = client.queue("reports")
    mail.put(1)
    reports.put(1)

    assert cli("pause", "mail", "reports").out == "paused: mail, reports\n"
    assert (mail.counts().paused, reports.counts().paused) == (True, True)
    assert cli("resume", "mail", "--json").json == {"resumed": ["mail"]}
    assert cli("pause", "mail", "--json").json == {"paused": ["mail"]}
    assert cli("resume", "mail").out == "resumed: mail\n"
    assert (mail.counts().paused, reports.counts().paused) == (False, True)


def test_schedules_are_listed_with_their_next_run(cli: RunCommand, mail: Queue) -> None:
    assert cli("schedules").out == "there are no schedules\n"
    mail.schedule("nightly", {"clean": True}, cron="0 3 * * *", zone="Europe/Berlin")
    mail.schedule("often", {"look": 1}, every=90, delay=3600)

    result = cli("schedules")

    assert "every 90 s" in result.out
    assert "0 3 * * * Europe/Berlin" in result.out
    assert " UTC, in " in result.out
    found = cli("schedules", "mail", "--json").json["schedules"]
    assert {each["id"]: each["data"] for each in found} == {
        "nightly": {"clean": True},
        "often": {"look": 1},
    }
    assert cli("schedules", "reports", "--json").json == {"schedules": []}
