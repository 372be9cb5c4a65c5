"""The commands retry and cancel."""

from __future__ import annotations

import pytest

import headrace
from headrace import Client, Queue
from headrace.cli import bulk_changes
from tests.cli.conftest import RunCommand, fail


def states(client: Client, *ids: str) -> list[str]:
    return [job.state for job in client.jobs(ids)]


def put_chain(queue: Queue, length: int) -> None:
    """Put a chain of jobs, each of which depends on the previous job."""
    parents: list[str] = []
    for number in range(length):
        parents = [queue.put(0, id=f"{{c}}{number:03}", depends_on=parents, tags=["chain"])]


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


def test_dry_run_of_cancel_lists_jobs_and_changes_nothing(cli: RunCommand, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(2)])

    result = cli("cancel", "--queue", "mail", "--state", "waiting", "--dry-run")

    assert (result.code, result.out) == (0, "job-0\njob-1\n")
    assert result.err == "2 jobs would be cancelled; nothing was changed\n"
    assert mail.length() == 2


def test_cancel_by_id_reports_refusals(cli: RunCommand, client: Client, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(3)])
    mail.pop("ann")[0].complete()

    result = cli("cancel", "job-0", "job-1", "job-1")

    assert (result.code, result.out) == (1, "1 job cancelled\n")
    assert "job 'job-0' is complete" in result.err
    assert client.job("job-1") is None
    output = cli("cancel", "job-2", "nobody", "--json")
    assert (output.code, output.json["cancelled"], list(output.json["refused"])) == (
        1, ["job-2"], ["nobody"],
    )  # fmt: skip


def test_cancel_by_failure_state_tag_and_data(cli: RunCommand, client: Client, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"f-{n}") for n in range(3)])
    fail(mail, "smtp", "", times=3)
    mail.put(1, id="tagged", tags=["old"])
    mail.put({"to": "ada"}, id="same-1")
    mail.put({"to": "ada"}, id="same-2")
    mail.put(2, id="waiting")
    mail.put(3, id="later", delay=60)

    def cancelled(*words: str) -> list[str]:
        found: list[str] = cli("cancel", "--json", *words).json["cancelled"]
        return found

    output = cli("cancel", "--failure", "smtp", "--count", "2", "--json").json
    assert output == {"matched": 2, "cancelled": 2, "refused": 0}
    assert cancelled("--tag", "old") == ["tagged"]
    assert cancelled("--queue", "mail", "--matching", '{"to": "ada"}') == ["same-1", "same-2"]
    assert cancelled("--queue", "mail", "--state", "waiting") == ["waiting"]
    assert cancelled("--queue", "mail", "--state", "waiting") == []
    assert states(client, "f-2", "later") == ["failed", "scheduled"]


def test_cancel_of_more_jobs_than_one_step(cli: RunCommand, mail: Queue) -> None:
    mail.put_many(range(600))

    assert cli("cancel", "--queue", "mail", "--state", "waiting").out == "600 jobs cancelled\n"
    assert mail.length() == 0


def test_job_with_dependents_is_cancelled_only_with_cascade(cli: RunCommand, mail: Queue) -> None:
    mail.put(1, id="first")
    mail.put(2, id="second", depends_on=["first"])

    result = cli("cancel", "first")
    assert result.code == 1
    assert "'second'" in result.err
    assert mail.length() == 2

    assert cli("cancel", "first", "--cascade").code == 0
    assert mail.length() == 0


def test_chain_of_dependent_jobs_is_cancelled_together(cli: RunCommand, mail: Queue) -> None:
    put_chain(mail, 600)

    result = cli("cancel", "--tag", "chain")

    assert (result.code, result.out, result.err) == (0, "600 jobs cancelled\n", "")
    assert mail.length() == 0


def test_jobs_cancelled_by_a_cascade_are_counted(cli: RunCommand, mail: Queue) -> None:
    put_chain(mail, 300)

    result = cli("cancel", "--tag", "chain", "--cascade")
    gone = cli("cancel", "nobody", "--cascade")

    assert (result.code, result.out, result.err) == (0, "300 jobs cancelled\n", "")
    assert (gone.code, gone.out) == (1, "0 jobs cancelled\n")
    assert mail.length() == 0


def test_refused_cancel_keeps_the_dependents(cli: RunCommand, client: Client, mail: Queue) -> None:
    put_chain(mail, 3)

    result = cli("cancel", "{c}000", "{c}001")

    assert (result.code, result.out) == (1, "0 jobs cancelled\n")
    assert "'{c}002'" in result.err
    assert "--cascade" in result.err
    assert "cascade=True" not in result.err
    assert len(client.jobs(["{c}000", "{c}001", "{c}002"])) == 3


@pytest.mark.parametrize("by", [("--queue", "mail"), ("--tag", "vip")])
def test_job_that_left_the_state_before_confirmation_is_not_cancelled(
    cli: RunCommand,
    client: Client,
    mail: Queue,
    monkeypatch: pytest.MonkeyPatch,
    by: tuple[str, str],
) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}", tags=["vip"]) for n in range(2)])
    monkeypatch.setattr(bulk_changes, "confirm", lambda *_, **__: mail.pop("ann"))

    result = cli("cancel", *by, "--state", "waiting")

    assert (result.code, result.out) == (1, "1 job cancelled\n")
    assert "job 'job-0' is running" in result.err
    assert states(client, "job-0", "job-1") == ["running"]


@pytest.mark.parametrize("command", ["retry", "cancel"])
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "missing: pass ids of jobs, or filter options such as --failure"),
        (["a", "--failure", "smtp"], "pass ids or filter options, not both"),
    ],
)
def test_jobs_must_be_selected_by_id_or_by_filter(
    cli: RunCommand, command: str, words: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    result = cli(command, *words)

    assert (result.code, result.out) == (2, "")
    assert complaint in result.err
