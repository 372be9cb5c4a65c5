"""The commands that look: queues, peek, jobs, tags, workers, schedules, audit."""

from __future__ import annotations

from dataclasses import asdict

import pytest

import headrace
from headrace import Client, Queue
from tests.cli.conftest import Type, fail


def test_queues_are_listed_with_their_counts(typed: Type, client: Client, mail: Queue) -> None:
    mail.put_many([1, 2])
    mail.pop("ann")
    client.queue("reports").pause()

    said = typed("queues")

    assert (said.code, said.err) == (0, "")
    assert said.rows == [
        ["queue", "waiting", "scheduled", "blocked", "running", "late", "failed", "complete"],
        ["mail", "1", "0", "0", "1", "0", "0", "0"],
        ["reports", "0", "0", "0", "0", "0", "0", "0", "paused"],
    ]
    assert typed("queues", "--json").json["queues"]["mail"] == asdict(mail.counts())


def test_a_namespace_without_queues_says_so(typed: Type) -> None:
    assert "no queues yet" in typed("queues").out
    assert typed("queues", "--json").json == {"queues": {}}


def test_peek_shows_the_next_jobs_in_order(typed: Type, mail: Queue) -> None:
    mail.put({"to": "ada"}, id="ada", tags=["vip"])
    mail.put({"to": "grace"}, id="grace", priority=-1)

    said = typed("peek", "mail")

    assert [row[:2] for row in said.rows[1:]] == [["grace", "waiting"], ["ada", "waiting"]]
    assert "vip" in said.out
    assert '{"to": "ada"}' in said.out
    assert " ago " in said.out
    found = typed("peek", "mail", "--count", "1", "--json").json
    assert [(job["id"], job["data"]) for job in found["jobs"]] == [("grace", {"to": "grace"})]
    assert found["jobs"][0]["put_at"].endswith("+00:00")


def test_an_empty_queue_is_no_error_and_an_unknown_one_is(typed: Type, mail: Queue) -> None:
    mail.pause()

    assert typed("peek", "mail").out == "nothing waits in mail\n"
    assert typed("peek", "mail", "--json").json == {"queue": "mail", "jobs": []}


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
def test_an_unknown_queue_is_one_line_and_exit_code_1(
    typed: Type, client: Client, mail: Queue, words: tuple[str, ...]
) -> None:
    mail.pause()

    said = typed(*words)

    assert (said.code, said.out) == (1, "")
    assert said.err == "headrace: queue 'mial' does not exist; the first put creates it\n"
    assert list(client.queues()) == ["mail"], "nothing is made by looking"
    assert mail.counts().paused, "and a refused command does nothing"


def test_jobs_are_listed_by_state_and_in_pages(typed: Type, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(5)])
    fail(mail, "smtp", "server busy", times=2)

    waiting = typed("jobs", "mail", "--offset", "1", "--count", "1")
    assert waiting.rows[1][:2] == ["job-3", "waiting"]
    assert waiting.out.endswith("1 of 3 jobs waiting in mail\n")

    failed = typed("jobs", "mail", "--state", "failed")
    assert "smtp: server busy" in failed.out
    assert failed.out.endswith("2 jobs failed in mail\n")

    found = typed("jobs", "mail", "--state", "failed", "--json").json
    assert found["total"] == 2
    assert {job["failure"]["type"] for job in found["jobs"]} == {"smtp"}

    assert typed("jobs", "mail", "--state", "running").out == "0 jobs running in mail\n"


def test_running_jobs_are_shown_with_their_worker_and_progress(typed: Type, mail: Queue) -> None:
    mail.put(1, id="a")
    [lease] = mail.pop("ann")
    lease.progress(0.4, "rendered")

    assert "ann 40% rendered" in typed("jobs", "mail", "--state", "running").out


def test_jobs_are_listed_by_tag(typed: Type, client: Client, mail: Queue) -> None:
    mail.put(1, id="a", tags=["vip"])
    mail.put(2, id="b", tags=["vip"])
    client.queue("reports").put(3, id="c", tags=["vip"])
    fail(mail, "smtp", "")

    def ids(*words: str) -> list[str]:
        return [job["id"] for job in typed("jobs", *words, "--json").json["jobs"]]

    assert ids("--tag", "vip") == ["a", "b", "c"]
    assert ids("mail", "--tag", "vip") == ["a", "b"]
    assert ids("mail", "--tag", "vip", "--state", "failed") == ["a"]
    assert ids("--tag", "vip", "--state", "waiting", "--offset", "1") == ["c"]
    assert typed("jobs", "--tag", "vip").out.endswith("3 jobs with tag vip\n")


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
def test_a_listing_that_makes_no_sense_is_exit_code_2(
    typed: Type, mail: Queue, words: tuple[str, ...]
) -> None:
    mail.put(1)

    assert (typed(*words).code, typed(*words).out) == (2, "")


def test_it_is_said_that_there_are_more_than_are_shown(typed: Type, client: Client) -> None:
    for name in ("a", "b", "c"):
        queue = client.queue(name)
        queue.put(1, tags=[name])
        fail(queue, name, "")
        queue.schedule(name, 1, every=60, delay=3600)
        client.session(name)

    for command in ("queues", "tags", "failures", "schedules", "workers"):
        some, rest = typed(command, "--count", "2"), typed(command, "--count", "2", "--offset", "1")
        assert (command, some.code, some.err) == (command, 0, "there are more: --offset 2\n")
        assert (command, rest.code, rest.err) == (command, 0, "")
        told = typed(command, "--count", "2", "--json")
        assert len(told.json[command]) == 2


def test_tags_are_listed_and_their_jobs(typed: Type, mail: Queue) -> None:
    assert typed("tags").out == "no job has a tag\n"
    mail.put(1, id="a", tags=["vip", "new"])
    mail.put(2, id="b", tags=["vip"])

    assert typed("tags").rows == [["tag", "jobs"], ["vip", "2"], ["new", "1"]]
    assert typed("tags", "--json").json == {"tags": {"vip": 2, "new": 1}}
    assert typed("tags", "new").rows[1][0] == "a"
    assert typed("tags", "new", "--json").json["total"] == 1


def test_workers_are_listed_with_what_they_serve_and_hold(
    typed: Type, client: Client, mail: Queue
) -> None:
    assert typed("workers").out == "no worker has a session\n"
    session = client.session("ann", ttl=None)
    session.serve("mail")
    mail.put(1)
    mail.pop("ann")

    said = typed("workers")

    assert said.rows[1][:3] == ["ann", "1", "mail"]
    assert "never" in said.out
    [worker] = typed("workers", "--json").json["workers"]
    assert (worker["name"], worker["jobs"], worker["queues"]) == ("ann", 1, ["mail"])


def test_schedules_are_listed_with_their_next_turn(typed: Type, mail: Queue) -> None:
    assert typed("schedules").out == "there are no schedules\n"
    mail.schedule("nightly", {"clean": True}, cron="0 3 * * *", zone="Europe/Berlin")
    mail.schedule("often", {"look": 1}, every=90, delay=3600)

    said = typed("schedules")

    assert "every 90 s" in said.out
    assert "0 3 * * * Europe/Berlin" in said.out
    assert " UTC, in " in said.out
    found = typed("schedules", "mail", "--json").json["schedules"]
    assert {each["id"]: each["data"] for each in found} == {
        "nightly": {"clean": True},
        "often": {"look": 1},
    }
    assert typed("schedules", "reports", "--json").json == {"schedules": []}


def test_the_audit_says_that_the_books_balance(typed: Type, mail: Queue) -> None:
    mail.put_many([1, 2])

    said = typed("audit")

    assert (said.code, said.out) == (0, "2 jobs in 1 queue looked at: the books balance\n")
    assert typed("audit", "--json").json == {
        "balanced": True, "queues": 1, "jobs": 2, "problems": [],
    }  # fmt: skip


def test_an_audit_that_finds_something_names_it_and_is_exit_code_1(
    typed: Type, client: Client, mail: Queue
) -> None:
    mail.put(1, id="lost-one")
    core = client.core
    core.transport.send([(0, ("DEL", core.key(0, "waiting:mail")))])

    said = typed("audit")

    assert (said.code, said.out) == (1, "")
    assert "the books do not balance" in said.err
    assert "lost-one" in said.err
    assert len(said.err.splitlines()) == 1
    told = typed("audit", "--json")
    assert (told.code, told.json["balanced"]) == (1, False)
    assert "lost-one" in told.json["problems"][0]
