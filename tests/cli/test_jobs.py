"""The commands that list jobs: peek, jobs, failures, tags."""

from __future__ import annotations

import pytest

import headrace
from headrace import Client, Queue
from tests.cli.conftest import RunCommand, fail


def test_peek_shows_the_next_jobs_in_order(cli: RunCommand, mail: Queue) -> None:
    mail.put({"to": "ada"}, id="ada", tags=["vip"])
    mail.put({"to": "grace"}, id="grace", priority=-1)

    result = cli("peek", "mail")

    assert [row[:2] for row in result.rows[1:]] == [["grace", "waiting"], ["ada", "waiting"]]
    assert "vip" in result.out
    assert '{"to": "ada"}' in result.out
    assert " ago " in result.out
    found = cli("peek", "mail", "--count", "1", "--json").json
    assert [(job["id"], job["data"]) for job in found["jobs"]] == [("grace", {"to": "grace"})]
    assert found["jobs"][0]["put_at"].endswith("+00:00")


def test_peek_of_an_empty_queue_is_no_error(cli: RunCommand, mail: Queue) -> None:
    mail.pause()

    assert cli("peek", "mail").out == "no waiting jobs in mail\n"
    assert cli("peek", "mail", "--json").json == {"queue": "mail", "jobs": []}


def test_jobs_are_listed_by_state_and_in_pages(cli: RunCommand, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(5)])
    fail(mail, "smtp", "server busy", times=2)

    waiting = cli("jobs", "mail", "--offset", "1", "--count", "1")
    assert waiting.rows[1][:2] == ["job-3", "waiting"]
    assert waiting.out.endswith("1 of 3 jobs waiting in mail\n")

    failed = cli("jobs", "mail", "--state", "failed")
    assert "smtp: server busy" in failed.out
    assert failed.out.endswith("2 jobs failed in mail\n")

    found = cli("jobs", "mail", "--state", "failed", "--json").json
    assert found["total"] == 2
    assert {job["failure"]["type"] for job in found["jobs"]} == {"smtp"}

    assert cli("jobs", "mail", "--state", "running").out == "0 jobs running in mail\n"


def test_running_jobs_are_shown_with_their_worker_and_progress(
    cli: RunCommand, mail: Queue
) -> None:
    mail.put(1, id="a")
    [lease] = mail.pop("ann")
    lease.progress(0.4, "rendered")

    assert "ann 40% rendered" in cli("jobs", "mail", "--state", "running").out


def test_jobs_are_listed_by_tag(cli: RunCommand, client: Client, mail: Queue) -> None:
    mail.put(1, id="a", tags=["vip"])
    mail.put(2, id="b", tags=["vip"])
    client.queue("reports").put(3, id="c", tags=["vip"])
    fail(mail, "smtp", "")

    def ids(*words: str) -> list[str]:
        return [job["id"] for job in cli("jobs", *words, "--json").json["jobs"]]

    assert ids("--tag", "vip") == ["a", "b", "c"]
    assert ids("mail", "--tag", "vip") == ["a", "b"]
    assert ids("mail", "--tag", "vip", "--state", "failed") == ["a"]
    assert ids("--tag", "vip", "--state", "waiting", "--offset", "1") == ["c"]
    assert cli("jobs", "--tag", "vip").out.endswith("3 jobs with tag vip\n")


@pytest.mark.parametrize(
    "words",
    [
        ("jobs",),
        ("jobs", "mail", "--state", "lost"),
        ("jobs", "--tag", "vip", "--state", "nope"),
        ("jobs", "mail", "--count", "0"),
        ("peek",),
    ],
)
def test_invalid_listing_exits_with_2(cli: RunCommand, mail: Queue, words: tuple[str, ...]) -> None:
    mail.put(1)

    assert (cli(*words).code, cli(*words).out) == (2, "")


def test_tags_and_their_jobs_are_listed(cli: RunCommand, mail: Queue) -> None:
    assert cli("tags").out == "no job has a tag\n"
    mail.put(1, id="a", tags=["vip", "new"])
    mail.put(2, id="b", tags=["vip"])

    assert cli("tags").rows == [["tag", "jobs"], ["vip", "2"], ["new", "1"]]
    assert cli("tags", "--json").json == {"tags": {"vip": 2, "new": 1}}
    assert cli("tags", "new").rows[1][0] == "a"
    assert cli("tags", "new", "--json").json["total"] == 1


def test_failures_are_listed_by_type_with_the_newest_message(cli: RunCommand, mail: Queue) -> None:
    assert cli("failures").out == "no failed jobs\n"
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(3)])
    fail(mail, "smtp", "server busy")
    fail(mail, "smtp", "server gone")
    fail(mail, "bad address", "no such user")

    result = cli("failures")

    assert result.rows[1][:2] == ["smtp", "2"]
    assert result.out.splitlines()[1].endswith("mail   job-1  server gone")
    found = cli("failures", "--json").json["failures"]
    assert [(each["type"], each["count"], each["message"]) for each in found] == [
        ("smtp", 2, "server gone"),
        ("bad address", 1, "no such user"),
    ]
    of_type = cli("failures", "smtp")
    assert [row[0] for row in of_type.rows[1:3]] == ["job-1", "job-0"]
    assert of_type.out.endswith("2 jobs failed with smtp\n")
    assert cli("failures", "smtp", "--count", "1", "--json").json["total"] == 2
    assert cli("failures", "never", "--json").json == {"total": 0, "jobs": []}
