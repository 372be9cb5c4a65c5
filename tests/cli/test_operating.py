"""The commands that change things: retry, cancel, pause, release, timeout, sweep, settings."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import headrace
from headrace import Client, Queue
from headrace.cli import bulk, cancel, choosing
from tests.cli.conftest import Type, fail
from tests.support.interrupted_write import was_long_ago, write_and_die


def states(client: Client, *ids: str) -> list[str]:
    return [job.state for job in client.jobs(ids)]


def test_failures_are_listed_by_type_with_the_newest_message(typed: Type, mail: Queue) -> None:
    assert typed("failures").out == "nothing is failed\n"
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(3)])
    fail(mail, "smtp", "server busy")
    fail(mail, "smtp", "server gone")
    fail(mail, "bad address", "no such user")

    said = typed("failures")

    assert said.rows[1][:2] == ["smtp", "2"]
    assert said.out.splitlines()[1].endswith("mail   job-1  server gone")
    found = typed("failures", "--json").json["failures"]
    assert [(each["type"], each["count"], each["message"]) for each in found] == [
        ("smtp", 2, "server gone"),
        ("bad address", 1, "no such user"),
    ]
    of_type = typed("failures", "smtp")
    assert [row[0] for row in of_type.rows[1:3]] == ["job-1", "job-0"]
    assert of_type.out.endswith("2 jobs failed with smtp\n")
    assert typed("failures", "smtp", "--count", "1", "--json").json["total"] == 2
    assert typed("failures", "never", "--json").json == {"total": 0, "jobs": []}


def test_failed_jobs_are_tried_again_by_id(typed: Type, client: Client, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(3)])
    fail(mail, "smtp", "", times=2)

    said = typed("retry", "job-0", "job-2", "--delay", "5m")

    assert (said.code, said.out) == (1, "1 job retried\n")
    assert said.err == (
        "headrace: job 'job-2' is waiting, and this operation does not apply to that state\n"
    )
    assert states(client, "job-0", "job-1", "job-2") == ["scheduled", "failed", "waiting"]
    told = typed("retry", "job-1", "--json")
    assert (told.code, told.json) == (0, {"retried": ["job-1"], "refused": {}})


def test_failed_jobs_are_tried_again_by_type_the_oldest_first(
    typed: Type, client: Client, mail: Queue
) -> None:
    reports = client.queue("reports")
    mail.put_many([headrace.Put(n, id=f"mail-{n}", tags=["vip"] * (n % 2)) for n in range(5)])
    reports.put(1, id="report")
    for queue in (mail, mail, mail, mail, mail, reports):
        fail(queue, "smtp", "")

    def retried(*words: str) -> list[str]:
        before = {job.id for job in client.failures.jobs("smtp").jobs}
        told = typed("retry", "--failure", "smtp", "--json", *words).json
        left = {job.id for job in client.failures.jobs("smtp").jobs}
        assert (told["matched"], told["refused"]) == (told["retried"], 0)
        assert told["retried"] == len(before - left)
        return sorted(before - left)

    assert retried("--count", "2") == ["mail-0", "mail-1"]
    assert retried("--queue", "reports") == ["report"]
    assert retried("--tag", "vip") == ["mail-3"]
    assert retried("--all") == ["mail-2", "mail-4"]
    assert retried() == []
    assert client.failures.counts() == {}


def test_failed_jobs_are_tried_again_by_queue_alone_and_at_a_pace(
    typed: Type, client: Client, mail: Queue
) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(2)])
    fail(mail, "smtp", "")
    fail(mail, "bad address", "")

    said = typed("retry", "--queue", "mail", "--delay", "1h", "--pace", "1/m")

    assert (said.code, said.out) == (0, "2 jobs retried\n")
    first, second = client.jobs(["job-0", "job-1"])
    assert first.due
    assert second.due
    assert (second.due - first.due).total_seconds() == pytest.approx(60, abs=5)


def test_a_retry_that_is_refused_is_exit_code_1(typed: Type, mail: Queue) -> None:
    mail.put(1, id="a", unique="u")
    fail(mail, "smtp", "")
    mail.put(1, id="b", unique="u")

    said = typed("retry", "--failure", "smtp")

    assert (said.code, said.out) == (1, "0 jobs retried\n")
    assert "1 job refused: another job has the same unique value" in said.err
    told = typed("retry", "--failure", "smtp", "--json")
    assert (told.code, told.json) == (1, {"matched": 1, "retried": 0, "refused": 1})


def test_a_dry_run_of_a_retry_counts_and_changes_nothing(
    typed: Type, client: Client, mail: Queue
) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(3)])
    fail(mail, "smtp", "", times=3)

    said = typed("retry", "--failure", "smtp", "--count", "2", "--dry-run")
    assert said.out == "2 jobs would be retried; nothing was changed\n"
    told = typed("cancel", "--failure", "smtp", "--dry-run", "--json").json
    assert told == {"dry_run": True, "matched": 3}
    assert typed("retry", "job-0", "--dry-run").out == "job-0\n"
    assert client.failures.counts() == {"smtp": 3}


def test_a_dry_run_names_the_jobs_and_changes_nothing(typed: Type, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(2)])

    said = typed("cancel", "--queue", "mail", "--state", "waiting", "--dry-run")

    assert (said.code, said.out) == (0, "job-0\njob-1\n")
    assert said.err == "2 jobs would be cancelled; nothing was changed\n"
    assert mail.length() == 2


def test_jobs_are_cancelled_by_id_and_what_is_refused_is_told(
    typed: Type, client: Client, mail: Queue
) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(3)])
    mail.pop("ann")[0].complete()

    said = typed("cancel", "job-0", "job-1", "job-1")

    assert (said.code, said.out) == (1, "1 job cancelled\n")
    assert "job 'job-0' is complete" in said.err
    assert client.job("job-1") is None
    told = typed("cancel", "job-2", "nobody", "--json")
    assert (told.code, told.json["cancelled"], list(told.json["refused"])) == (
        1, ["job-2"], ["nobody"],
    )  # fmt: skip


def test_jobs_are_cancelled_by_failure_state_tag_and_data(
    typed: Type, client: Client, mail: Queue
) -> None:
    mail.put_many([headrace.Put(n, id=f"f-{n}") for n in range(3)])
    fail(mail, "smtp", "", times=3)
    mail.put(1, id="tagged", tags=["old"])
    mail.put({"to": "ada"}, id="same-1")
    mail.put({"to": "ada"}, id="same-2")
    mail.put(2, id="waiting")
    mail.put(3, id="later", delay=60)

    def cancelled(*words: str) -> list[str]:
        found: list[str] = typed("cancel", "--json", *words).json["cancelled"]
        return found

    told = typed("cancel", "--failure", "smtp", "--count", "2", "--json").json
    assert told == {"matched": 2, "cancelled": 2, "refused": 0}
    assert cancelled("--tag", "old") == ["tagged"]
    assert cancelled("--queue", "mail", "--matching", '{"to": "ada"}') == ["same-1", "same-2"]
    assert cancelled("--queue", "mail", "--state", "waiting") == ["waiting"]
    assert cancelled("--queue", "mail", "--state", "waiting") == []
    assert states(client, "f-2", "later") == ["failed", "scheduled"]


def test_more_jobs_than_one_step_takes_are_cancelled(typed: Type, mail: Queue) -> None:
    mail.put_many(range(600))

    assert typed("cancel", "--queue", "mail", "--state", "waiting").out == "600 jobs cancelled\n"
    assert mail.length() == 0


def test_a_job_that_others_depend_on_is_cancelled_only_with_them(typed: Type, mail: Queue) -> None:
    mail.put(1, id="first")
    mail.put(2, id="second", depends_on=["first"])

    said = typed("cancel", "first")
    assert said.code == 1
    assert "'second'" in said.err
    assert mail.length() == 2

    assert typed("cancel", "first", "--cascade").code == 0
    assert mail.length() == 0


def test_jobs_that_depend_on_each_other_are_cancelled_together_however_many(
    typed: Type, mail: Queue
) -> None:
    put_chain(mail, 600)

    said = typed("cancel", "--tag", "chain")

    assert (said.code, said.out, said.err) == (0, "600 jobs cancelled\n", "")
    assert mail.length() == 0


def put_chain(queue: Queue, length: int) -> None:
    """Each depends on the one before it."""
    parents: list[str] = []
    for number in range(length):
        parents = [queue.put(0, id=f"{{c}}{number:03}", depends_on=parents, tags=["chain"])]


def test_what_went_with_a_cascade_is_counted_as_cancelled(typed: Type, mail: Queue) -> None:
    put_chain(mail, 300)

    said = typed("cancel", "--tag", "chain", "--cascade")
    gone = typed("cancel", "nobody", "--cascade")

    assert (said.code, said.out, said.err) == (0, "300 jobs cancelled\n", "")
    assert (gone.code, gone.out) == (1, "0 jobs cancelled\n")
    assert mail.length() == 0


def test_what_is_refused_for_its_dependents_keeps_those_that_wait_for_it(
    typed: Type, client: Client, mail: Queue
) -> None:
    put_chain(mail, 3)

    said = typed("cancel", "{c}000", "{c}001")

    assert (said.code, said.out) == (1, "0 jobs cancelled\n")
    assert "'{c}002'" in said.err
    assert "--cascade" in said.err
    assert "cascade=True" not in said.err
    assert len(client.jobs(["{c}000", "{c}001", "{c}002"])) == 3


@pytest.mark.parametrize("by", [("--queue", "mail"), ("--tag", "vip")])
def test_what_left_the_state_while_the_question_was_open_is_not_cancelled(
    typed: Type,
    client: Client,
    mail: Queue,
    monkeypatch: pytest.MonkeyPatch,
    by: tuple[str, str],
) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}", tags=["vip"]) for n in range(2)])
    monkeypatch.setattr(cancel, "agree", lambda *_, **__: mail.pop("ann"))

    said = typed("cancel", *by, "--state", "waiting")

    assert (said.code, said.out) == (1, "1 job cancelled\n")
    assert "job 'job-0' is running" in said.err
    assert states(client, "job-0", "job-1") == ["running"]


def test_an_id_that_is_given_twice_is_meant_once(typed: Type, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(2)])
    fail(mail, "smtp", "")
    mail.pop("ann")

    assert typed("retry", "job-0", "job-0", "--dry-run").out == "job-0\n"
    retried, taken = typed("retry", "job-0", "job-0"), typed("timeout", "job-1", "job-1")

    assert (retried.code, retried.out) == (0, "1 job retried\n")
    assert (taken.code, taken.out) == (0, "1 job taken back\n")


@pytest.mark.parametrize(
    "words",
    [
        ("retry",),
        ("retry", "a", "--failure", "smtp"),
        ("retry", "a", "--queue", "mail"),
        ("retry", "a", "--pace", "1/s"),
        ("retry", "--queue", "mail", "--pace", "fast"),
        ("retry", "--failure", ""),
        ("cancel", "--failure", "smtp", "--cascade"),
        ("cancel", "--failure", "smtp", "--state", "failed"),
        ("cancel",),
        ("cancel", "a", "--failure", "smtp"),
        ("cancel", "a", "--tag", "vip"),
        ("cancel", "--state", "waiting"),
        ("cancel", "--queue", "mail"),
        ("cancel", "--queue", "mail", "--state", "lost"),
        ("cancel", "--tag", "vip", "--state", "nope"),
        ("cancel", "--matching", "1"),
        ("cancel", "--matching", "1", "--queue", "mail", "--state", "waiting"),
        ("cancel", "--matching", "{", "--queue", "mail"),
        ("pause",),
        ("release", "a", "--delay", "never"),
        ("timeout",),
        ("configure", "mail", "lease"),
        ("configure", "mail", "lease=long"),
        ("configure", "mail", "fair=perhaps"),
        ("configure", "mail", "colour=red"),
        ("configure", "mail", "concurrency=-1"),
        ("configure", "mail", "session=perhaps"),
        ("configure", "mail", "events_age=1d"),
        ("configure", "mail", "--profile", "none"),
        ("config", "fair=yes"),
        ("config", "--unset", "colour"),
    ],
)
def test_what_makes_no_sense_is_exit_code_2_and_changes_nothing(
    typed: Type, client: Client, mail: Queue, words: tuple[str, ...]
) -> None:
    mail.put(1, id="a")
    before = (mail.settings(), mail.counts(), client.config.get())

    said = typed(*words)

    assert (said.code, said.out) == (2, "")
    assert said.err
    assert (mail.settings(), mail.counts(), client.config.get()) == before


def test_queues_are_paused_and_resumed(typed: Type, client: Client, mail: Queue) -> None:
    reports = client.queue("reports")
    mail.put(1)
    reports.put(1)

    assert typed("pause", "mail", "reports").out == "paused: mail, reports\n"
    assert (mail.counts().paused, reports.counts().paused) == (True, True)
    assert typed("resume", "mail", "--json").json == {"resumed": ["mail"]}
    assert typed("pause", "mail", "--json").json == {"paused": ["mail"]}
    assert typed("resume", "mail").out == "resumed: mail\n"
    assert (mail.counts().paused, reports.counts().paused) == (False, True)


def test_a_running_job_is_released(typed: Type, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(2)])
    mail.pop("ann")

    assert typed("release", "job-0", "--back").out == "job-0 is waiting\n"
    assert [job.id for job in mail.peek(2)] == ["job-1", "job-0"]
    mail.pop("ann")
    told = typed("release", "job-1", "--delay", "5m", "--json").json
    assert told == {"id": "job-1", "state": "scheduled"}
    mail.pop("ann")
    typed("release", "job-0")
    refused = typed("release", "job-0")
    assert (refused.code, refused.out) == (1, "")


def test_leases_are_let_run_out(typed: Type, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(2)])
    mail.pop("ann")

    said = typed("timeout", "job-0", "job-1")

    assert (said.code, said.out) == (1, "1 job taken back\n")
    assert "job 'job-1' is waiting" in said.err
    assert mail.counts().waiting == 2


def test_the_settings_of_a_queue_are_shown_and_changed(typed: Type, mail: Queue) -> None:
    said = typed("configure", "mail", "lease=5m", "concurrency=3", "fair=yes", "rate=10/s")

    rows = {row[0]: row[1:4] for row in said.rows}
    assert rows["lease"] == ["5", "min", "60"]
    assert rows["concurrency"][:2] == ["3", "none"]
    assert rows["fair"][:2] == ["yes", "no"]
    assert rows["keep_age"][:2] == ["7", "days"]
    settings = typed("configure", "mail", "concurrency=none", "--json").json
    assert settings == {"queue": "mail", "settings": mail.settings()}
    assert (mail.settings()["lease"], mail.settings()["concurrency"]) == (300, None)
    typed("configure", "mail", "--profile", "fifo")
    assert (mail.settings()["removes"], mail.settings()["lease"]) == (True, None)


def test_the_settings_of_a_namespace_are_shown_and_changed(typed: Type, client: Client) -> None:
    assert "retries" in typed("config").out
    typed("config", "retries=7", "events_age=2d")
    assert (client.config.get("retries"), client.config.get("events_age")) == (7, 172_800)
    told = typed("config", "--unset", "retries", "--json").json
    assert told["settings"] == client.config.get()
    assert client.config.get("retries") == 5


@contextmanager
def bar_at_which_somebody_hits_ctrl_c(_what: str, _total: int) -> Iterator[Callable[[int], None]]:
    yield lambda _: os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupted_retry_ends_after_its_step_and_tells_how_far_it_came(
    typed: Type, client: Client, mail: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail.put_many(range(700))
    while leases := mail.pop("ann", count=500):
        client.leases.fail([headrace.Fail(lease, "smtp") for lease in leases])
    monkeypatch.setattr(choosing, "progress", bar_at_which_somebody_hits_ctrl_c)

    said = typed("retry", "--failure", "smtp", "--all")

    assert (said.code, said.out) == (130, "")
    assert said.err == "headrace: interrupted, retried 500 of 700\n"
    assert client.failures.counts() == {"smtp": 200}


def test_an_interrupted_cancel_ends_after_its_step_and_tells_how_far_it_came(
    typed: Type, mail: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail.put_many(range(300))
    monkeypatch.setattr(bulk, "progress", bar_at_which_somebody_hits_ctrl_c)

    said = typed("cancel", "--queue", "mail", "--state", "waiting")

    assert (said.code, said.out) == (130, "")
    assert said.err == "headrace: interrupted, cancelled 250 of 300\n"
    assert mail.length() == 50


def test_a_sweep_says_which_writes_it_has_ended(typed: Type, client: Client) -> None:
    assert typed("sweep", "--json").json == {"finished": []}
    assert typed("sweep").out == "swept; 0 writes from Spark brought to an end\n"
    write_and_die(client, [("a", b"1"), ("b", b"2")])
    was_long_ago(client)

    said = typed("sweep")

    assert (said.code, said.out) == (
        0,
        "swept; 1 write from Spark brought to an end\nw: 2 rows into mail\n",
    )
    assert states(client, "a", "b") == ["waiting", "waiting"]


def test_a_sweep_tells_what_a_write_has_lost(typed: Type, client: Client) -> None:
    write_and_die(client, [("a", b"1"), ("b", b"2")])
    was_long_ago(client)
    client.core.transport.send([(0, ("DEL", client.core.key(0, "staged:parcel")))])

    [told] = typed("sweep", "--json").json["finished"]

    assert (told["id"], told["queue"], told["rows"], told["made"]) == ("w", "mail", 2, 0)
    assert told["lost"] == {"0": 2}
