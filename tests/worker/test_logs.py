"""The log lines of a worker."""

from __future__ import annotations

import json
import logging

import pytest

from headrace.worker import logs
from tests.support.servers import until
from tests.worker.support.site import Site


def test_json_log_has_at_most_one_line_per_job(site: Site) -> None:
    work = site.work("--json", "--verbose", "--processes", "2", "--session", "1")
    quick = site.put_many(50, "quick")
    bad = [
        site.queue.put({"task": "raises", "args": {"kind": kind}}, retries=0)
        for kind in ("mute", "huge", "surrogate", "long name", "control")
    ]
    snoozed = site.put("snoozes", times=1)
    cancelled = site.put("gate", name="never")
    site.wait_for_notes(1, "begun")
    site.hr.cancel(cancelled)
    site.wait_for_notes(1, "cancelled")
    site.wait_for("complete", *quick, snoozed)
    site.wait_for("failed", *bad)
    poison = site.queue.put({"task": "dies", "args": {"how": "kill"}}, retries=0)
    site.wait_for("failed", poison)
    site.hr.workers.end(site.hr.workers.list()[0].name)
    until(lambda: "session expired" in work.log(), "the ended session is logged")
    lines = [json.loads(line) for line in work.log().splitlines()]
    assert {"time", "level", "logger", "message"} <= set.intersection(*map(set, lines))
    logged = [line["id"] for line in lines if "id" in line and line["id"] != snoozed]
    assert sorted(logged) == sorted({*quick, *bad, cancelled})
    [failed] = [line for line in lines if line.get("id") == bad[1]]
    assert (failed["task"], failed["failure"], failed["attempt"]) == ("raises", "ValueError", 1)
    assert len(failed["error"]) <= 200


def test_without_verbose_only_failures_are_logged(site: Site) -> None:
    work = site.work()
    site.wait_for("complete", *site.put_many(20, "quick"))
    failed = site.queue.put({"task": "fails", "args": {}}, retries=0)
    site.wait_for("failed", failed)
    until(lambda: failed in work.log(), "the failure is logged")
    [working, line] = work.log().splitlines()
    assert "working" in working
    assert "task=fails" in line


# Control characters of both sets, a reversed text direction, a line separator.
WILD = "\x1b]0;title\x07\r\n12:00:00.000 INFO forged\x9b31m\u202e\u2028"


def formatted(message: str, error: ValueError | None = None, **fields: object) -> str:
    exc_info = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("headrace", logging.ERROR, "", 0, message, (), exc_info)
    setattr(record, logs.FIELDS, fields)
    return logs.TextFormatter().format(record)


def test_control_characters_in_a_log_line_are_escaped() -> None:
    line = formatted(f"cannot start {WILD}", id=WILD, queue="q\x9b", failure="b\u202e", plain="a")

    assert line.isprintable()
    assert r"cannot start \x1b]0;title\x07\r\n12:00:00.000 INFO forged\x9b31m\u202e\u2028" in line
    assert r"queue='q\x9b' failure='b\u202e' plain=a" in line


def test_control_characters_in_a_traceback_are_escaped() -> None:
    first, *traceback = formatted("job crashed", ValueError(WILD)).split("\n")

    assert "job crashed" in first
    assert traceback
    assert all(line.isprintable() and line.startswith("  ") for line in traceback)
    assert r"INFO forged\x9b31m\u202e\u2028" in traceback[-1]


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_worker_does_not_log_the_password_of_a_malformed_url(
    site: Site, options: list[str]
) -> None:
    work = site.work("--verbose", *options, url="redis://ada:12s3cr3t?x@host")

    assert work.exit_code() == 1
    assert "invalid URL" in work.log()
    assert "s3cr3t" not in work.log()


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_worker_logs_no_control_characters_of_jobs(site: Site, options: list[str]) -> None:
    name = "j\x9b31m\u202e"
    work = site.work("--verbose", *options)
    site.queue.put({"task": "fails", "args": {"message": WILD}}, id=name, retries=0)
    site.wait_for("failed", name)
    site.queue.put({"task": f"none{WILD}", "args": {}}, id=f"unknown{name}", retries=0)
    site.wait_for("failed", f"unknown{name}")
    until(lambda: "unknownj" in work.log(), "the failures are logged")

    assert work.log().replace("\n", "").isprintable()
    assert not any(line.startswith("12:00:00.000") for line in work.log().splitlines())
