"""The log lines of a worker."""

from __future__ import annotations

import json

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
