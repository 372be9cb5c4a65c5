"""The commands queues, pause, resume, schedules and stats."""

from __future__ import annotations

import re
from dataclasses import asdict

import pytest

from headrace import Client, Queue
from tests.cli.conftest import RunCommand, fail


def write_statistics(client: Client, day: str, **facts: dict[str, object]) -> None:
    """Store statistics of a day directly, as the server would."""
    core = client.core
    for role, fields in facts.items():
        pairs = [str(word) for pair in fields.items() for word in pair]
        [reply] = core.transport.send([(0, ("HSET", core.key(0, f"{role}:{day}:mail"), *pairs))])
        assert isinstance(reply, int), reply


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
    assert list(client.queues()) == ["mail"], "the command created a queue"
    assert mail.counts().paused, "the refused command changed the pause"


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
            "more rows follow; continue with --offset 2\n",
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
    assert cli("schedules").out == "no schedules\n"
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


def test_stats_of_today_count_pops_failures_and_retries(cli: RunCommand, mail: Queue) -> None:
    mail.put_many([1, 2, 3])
    fail(mail, "smtp", "busy")
    mail.pop("ann")[0].complete()

    result = cli("stats", "mail")

    assert (result.code, result.err) == (0, "")
    assert re.search(r"^failures +1$", result.out, re.MULTILINE)
    assert "waiting time of 2 jobs" in result.out
    assert "running time of 1 job\n" in result.out
    assert re.search(r" 0 s - 1 s +2  █{40}$", result.out, re.MULTILINE)
    assert "50% within 1 s, 90% within 1 s, 99% within 1 s" in result.out
    found = cli("stats", "mail", "--json").json
    assert (found["wait"]["count"], found["run"]["count"]) == (2, 1)
    assert (found["failures"], found["failed"], found["retries"]) == (1, 1, 0)
    assert found["wait"]["bins"] == {"s0": 2}
    assert found["wait"]["quantiles"] == {"0.5": [0, 1], "0.9": [0, 1], "0.99": [0, 1]}
    assert found["wait"]["mean"] == mail.stats().wait.mean


def test_the_histogram_is_drawn_from_the_first_to_the_last_bar(
    cli: RunCommand, client: Client, mail: Queue
) -> None:
    mail.pause()
    day = mail.stats().day
    number = (day - type(day)(1970, 1, 1)).days
    write_statistics(
        client,
        str(number),
        stats={"wait:count": 8, "wait:mean": 4000, "wait:vk": 7e6},
        histogram={"wait:s1": 5, "wait:s7": 1, "wait:q4": 1, "wait:d40": 1},
    )

    result = cli("stats", "mail", day.isoformat())

    bars = re.findall(r"^ +(\d+ \w+ - .*?) +(\d+)(?:  (█+))?$", result.out, re.MULTILINE)
    assert [bar[:2] for bar in bars[:4]] == [
        ("1 s - 2 s", "5"), ("2 s - 5 s", "0"), ("5 s - 10 s", "1"), ("10 s - 20 s", "0"),
    ]  # fmt: skip
    assert len(bars[0][2]) == 40
    assert len(bars[2][2]) == 8
    assert "1 h - 2 h          1" in result.out
    assert "30 d -          1" in result.out
    assert "mean 4 s, standard deviation 1 s" in result.out
    assert "50% within 2 s" in result.out


def test_day_without_jobs_and_day_with_an_expired_histogram(
    cli: RunCommand, client: Client, mail: Queue
) -> None:
    mail.pause()
    assert "no jobs on this day" in cli("stats", "mail", "2020-01-01").out
    assert cli("stats", "mail", "2020-01-01", "--json").json["wait"]["quantiles"]["0.5"] is None
    day = mail.stats().day
    number = (day - type(day)(1970, 1, 1)).days
    write_statistics(client, str(number), stats={"run:count": 2, "run:mean": 1500})

    assert "the histogram of this day has expired" in cli("stats", "mail").out


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", ""])
def test_invalid_day_exits_with_2(cli: RunCommand, mail: Queue, day: str) -> None:
    mail.pause()

    assert (cli("stats", "mail", day).code, cli("stats", "mail", day).out) == (2, "")
