"""Behaviour shared by all commands that change jobs: invalid arguments, repeated ids, Ctrl-C."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import headrace
from headrace import Client, Queue
from headrace.cli import bulk_changes
from tests.cli.conftest import RunCommand, fail


def test_repeated_id_counts_once(cli: RunCommand, mail: Queue) -> None:
    mail.put_many([headrace.Put(n, id=f"job-{n}") for n in range(2)])
    fail(mail, "smtp", "")
    mail.pop("ann")

    assert cli("retry", "job-0", "job-0", "--dry-run").out == "job-0\n"
    retried, taken = cli("retry", "job-0", "job-0"), cli("timeout", "job-1", "job-1")

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
def test_invalid_arguments_exit_with_2_and_change_nothing(
    cli: RunCommand, client: Client, mail: Queue, words: tuple[str, ...]
) -> None:
    mail.put(1, id="a")
    before = (mail.settings(), mail.counts(), client.config.get())

    result = cli(*words)

    assert (result.code, result.out) == (2, "")
    assert result.err
    assert (mail.settings(), mail.counts(), client.config.get()) == before


@contextmanager
def progress_that_presses_ctrl_c(_what: str, _total: int) -> Iterator[Callable[[int], None]]:
    yield lambda _: os.kill(os.getpid(), signal.SIGINT)


def test_interrupted_retry_stops_after_its_step_and_reports_the_count(
    cli: RunCommand, client: Client, mail: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail.put_many(range(700))
    while leases := mail.pop("ann", count=500):
        client.leases.fail([headrace.Fail(lease, "smtp") for lease in leases])
    monkeypatch.setattr(bulk_changes, "progress", progress_that_presses_ctrl_c)

    result = cli("retry", "--failure", "smtp", "--all")

    assert (result.code, result.out) == (130, "")
    assert result.err == "headrace: interrupted, retried 500 of 700\n"
    assert client.failures.counts() == {"smtp": 200}


def test_interrupted_cancel_stops_after_its_step_and_reports_the_count(
    cli: RunCommand, mail: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail.put_many(range(300))
    monkeypatch.setattr(bulk_changes, "progress", progress_that_presses_ctrl_c)

    result = cli("cancel", "--queue", "mail", "--state", "waiting")

    assert (result.code, result.out) == (130, "")
    assert result.err == "headrace: interrupted, cancelled 250 of 300\n"
    assert mail.length() == 50
