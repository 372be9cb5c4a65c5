"""Wrong use of `headrace work`: one clear line, no traceback, and an exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.servers import until
from tests.worker.site import Site

APPS = {
    "empty": "import headrace\n",
    "two": "import headrace\none = headrace.App('one')\ntwo = headrace.App('two')\n",
    "bare": "import headrace\napp = headrace.App('bare')\n",
    "broken": "raise RuntimeError('no database')\n",
    "missing": "import nonexistent_thing\n",
    "untravelled": (
        "from __future__ import annotations\nimport headrace\napp = headrace.App('x')\n"
        "@app.task()\ndef send(what: Unknown) -> None: ...\n"
    ),
}

WRONG: dict[str, tuple[list[str], int, str]] = {
    "no such module": (["nowhere:app"], 1, "no module 'nowhere'"),
    "no such submodule": (["empty.sub:app"], 1, "empty.sub"),
    "no app": (["empty:app"], 1, "in empty there are: none"),
    "no colon, no app": (["empty"], 1, "in empty there are: none"),
    "which app": (["two"], 1, "two:one, two:two"),
    "another name": (["two:app"], 1, "two:one, two:two"),
    "nothing after the colon": (["two:"], 1, "write module:app"),
    "nothing": ([""], 1, "write module:app"),
    "an app without tasks": (["bare:app"], 1, "has no tasks"),
    "an app that cannot be loaded": (["broken:app"], 1, "no database"),
    "an app that needs what is not there": (["missing:app"], 1, "nonexistent_thing"),
    "a type that is not there": (["untravelled:app"], 1, "Unknown"),
    "an option that is not there": (["bare:app", "--quickly"], 2, "No such option"),
    "no process": (["bare:app", "--processes", "0"], 2, "--processes"),
    "a session too short": (["bare:app", "--session", "0.1"], 2, "--session"),
    "a session that is no number": (["bare:app", "--session", "nan"], 2, "--session"),
    "an endless session": (["bare:app", "--session", "inf"], 2, "finite"),
    "an endless drain": (["bare:app", "--drain", "inf"], 2, "finite"),
    "a queue twice": (["bare:app", "-q", "mail,default,mail"], 2, "named twice"),
    "a weight that is none": (["bare:app", "-q", "mail:x"], 2, "such as mail:3"),
    "a weight of nothing": (["bare:app", "-q", "mail:0"], 2, "such as mail:3"),
    "a queue with a bad name": (["bare:app", "-q", "a\nb"], 1, "control characters"),
}

WITH_TRACEBACK = {"an app that cannot be loaded", "an app that needs what is not there"}


@pytest.fixture
def apps(tmp_path: Path) -> Path:
    for name, text in APPS.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_use_is_told_in_a_line(site: Site, apps: Path, wrong: str) -> None:
    (app, *options), code, words = WRONG[wrong]
    work = site.work(*options, app=app, cwd=apps)
    assert work.exit_code() == code
    assert words in work.log()
    assert ("Traceback" in work.log()) == (wrong in WITH_TRACEBACK)


def test_log_lines_are_json_objects_and_at_most_one_for_a_job(site: Site) -> None:
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
    until(lambda: "lapsed" in work.log(), "the end of the session is noticed")
    lines = [json.loads(line) for line in work.log().splitlines()]
    assert {"time", "level", "logger", "message"} <= set.intersection(*map(set, lines))
    about = [line["id"] for line in lines if "id" in line and line["id"] != snoozed]
    assert sorted(about) == sorted({*quick, *bad, cancelled})
    [failed] = [line for line in lines if line.get("id") == bad[1]]
    assert (failed["task"], failed["failure"], failed["attempt"]) == ("raises", "ValueError", 1)
    assert len(failed["error"]) <= 200


def test_without_verbose_only_failures_have_lines(site: Site) -> None:
    work = site.work()
    site.wait_for("complete", *site.put_many(20, "quick"))
    failed = site.queue.put({"task": "fails", "args": {}}, retries=0)
    site.wait_for("failed", failed)
    until(lambda: failed in work.log(), "the failure is told")
    [working, line] = work.log().splitlines()
    assert "working" in working
    assert "task=fails" in line
