"""The commands failures and retry."""

from __future__ import annotations

import pytest

import headrace
from headrace import Client, Queue
from tests.cli.conftest import RunCommand, fail


def states(client: Client, *ids: str) -> list[str]:
    return [job.state for job in client.jobs(ids)]


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


def test_retry_by_id(cli: RunCommand, client: Client, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(3)])
    fail(mail, "smtp", "", times=2)

    result = cli("retry", "job-0", "job-2", "--delay", "5m")

    assert (result.code, result.out) == (1, "1 job retried\n")
    assert result.err == (
        "headrace: job 'job-2' is waiting, and this operation does not apply to that state\n"
    )
    assert states(client, "job-0", "job-1", "job-2") == ["scheduled", "failed", "waiting"]
    output = cli("retry", "job-1", "--json")
    assert (output.code, output.json) == (0, {"retried": ["job-1"], "refused": {}})


def test_retry_by_type_takes_the_oldest_first(cli: RunCommand, client: Client, mail: Queue) -> None:
    reports = client.queue("reports")
    mail.put_many([headrace.Put(n, id=f"mail-{n}", tags=["vip"] * (n % 2)) for n in range(5)])
    reports.put(1, id="report")
    for queue in (mail, mail, mail, mail, mail, reports):
        fail(queue, "smtp", "")

    def retried(*words: str) -> list[str]:
        before = {job.id for job in client.failures.jobs("smtp").jobs}
        output = cli("retry", "--failure", "smtp", "--json", *words).json
        left = {job.id for job in client.failures.jobs("smtp").jobs}
        assert (output["matched"], output["refused"]) == (output["retried"], 0)
        assert output["retried"] == len(before - left)
        return sorted(before - left)

    assert retried("--count", "2") == ["mail-0", "mail-1"]
    assert retried("--queue", "reports") == ["report"]
    assert retried("--tag", "vip") == ["mail-3"]
    assert retried("--all") == ["mail-2", "mail-4"]
    assert retried() == []
    assert client.failures.counts() == {}


def test_retry_by_queue_with_a_pace(cli: RunCommand, client: Client, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(2)])
    fail(mail, "smtp", "")
    fail(mail, "bad address", "")

    result = cli("retry", "--queue", "mail", "--delay", "1h", "--pace", "1/m")

    assert (result.code, result.out) == (0, "2 jobs retried\n")
    first, second = client.jobs(["job-0", "job-1"])
    assert first.due
    assert second.due
    assert (second.due - first.due).total_seconds() == pytest.approx(60, abs=5)


def test_refused_retry_exits_with_1(cli: RunCommand, mail: Queue) -> None:
    mail.put(1, id="a", unique="u")
    fail(mail, "smtp", "")
    mail.put(1, id="b", unique="u")

    result = cli("retry", "--failure", "smtp")

    assert (result.code, result.out) == (1, "0 jobs retried\n")
    assert "1 job refused: another job has the same unique value" in result.err
    output = cli("retry", "--failure", "smtp", "--json")
    assert (output.code, output.json) == (1, {"matched": 1, "retried": 0, "refused": 1})


def test_dry_run_of_retry_counts_and_changes_nothing(
    cli: RunCommand, client: Client, mail: Queue
) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(3)])
    fail(mail, "smtp", "", times=3)

    result = cli("retry", "--failure", "smtp", "--count", "2", "--dry-run")
    assert result.out == "2 jobs would be retried; nothing was changed\n"
    output = cli("cancel", "--failure", "smtp", "--dry-run", "--json").json
    assert output == {"dry_run": True, "matched": 3}
    assert cli("retry", "job-0", "--dry-run").out == "job-0\n"
    assert client.failures.counts() == {"smtp": 3}
