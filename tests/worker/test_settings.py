"""Wrong use of `headrace work` gives one clear line, no traceback and an exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import InvalidArgument
from headrace.client.connect import LAYOUT
from headrace.engine import keys
from headrace.worker.settings import ServedQueue, read_queues
from tests.worker.support.site import Site

APPS = {
    "empty": "import headrace\n",
    "two": "import headrace\none = headrace.App('one')\ntwo = headrace.App('two')\n",
    "bare": "import headrace\napp = headrace.App('bare')\n",
    "broken": "raise RuntimeError('no database')\n",
    "missing": "import nonexistent_thing\n",
    "untyped": (
        "from __future__ import annotations\nimport headrace\napp = headrace.App('x')\n"
        "@app.task()\ndef send(what: Unknown) -> None: ...\n"
    ),
}

WRONG: dict[str, tuple[list[str], int, str]] = {
    "no such module": (["nowhere:app"], 1, "no module 'nowhere'"),
    "no such submodule": (["empty.sub:app"], 1, "empty.sub"),
    "no app": (["empty:app"], 1, "apps in empty: none"),
    "no colon, no app": (["empty"], 1, "apps in empty: none"),
    "which app": (["two"], 1, "two:one, two:two"),
    "another name": (["two:app"], 1, "two:one, two:two"),
    "nothing after the colon": (["two:"], 1, "write module:app"),
    "nothing": ([""], 1, "write module:app"),
    "an app without tasks": (["bare:app"], 1, "has no tasks"),
    "an app that cannot be loaded": (["broken:app"], 1, "no database"),
    "an app with a missing import": (["missing:app"], 1, "nonexistent_thing"),
    "an unknown type": (["untyped:app"], 1, "Unknown"),
    "an unknown option": (["bare:app", "--quickly"], 2, "No such option"),
    "zero processes": (["bare:app", "--processes", "0"], 2, "--processes"),
    "a session too short": (["bare:app", "--session", "0.1"], 2, "--session"),
    "a session that is no number": (["bare:app", "--session", "nan"], 2, "finite"),
    "an infinite session": (["bare:app", "--session", "inf"], 2, "finite"),
    "an infinite drain": (["bare:app", "--drain", "inf"], 2, "finite"),
    "a queue twice": (["bare:app", "-q", "mail,default,mail"], 2, "listed twice"),
    "a weight that is no number": (["bare:app", "-q", "mail:x"], 2, "like mail:3"),
    "a weight of zero": (["bare:app", "-q", "mail:0"], 2, "like mail:3"),
    "a queue with a bad name": (["bare:app", "-q", "a\nb"], 1, "control characters"),
}

WITH_TRACEBACK = {"an app that cannot be loaded", "an app with a missing import"}


@pytest.fixture
def apps(tmp_path: Path) -> Path:
    for name, text in APPS.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_use_is_reported_with_an_exit_code(site: Site, apps: Path, wrong: str) -> None:
    (app, *options), code, words = WRONG[wrong]
    work = site.work(*options, app=app, cwd=apps)
    assert work.exit_code() == code
    assert words in work.log()
    assert ("Traceback" in work.log()) == (wrong in WITH_TRACEBACK)


def test_worker_of_an_incompatible_version_exits_at_once(site: Site) -> None:
    core = site.hr.core
    meta = core.key(0, keys.META)
    core.transport.send([(0, ("HSET", meta, "layout", 99))])
    work = site.work("--processes", "2")
    assert work.exit_code() == 1
    assert "cannot use the namespace" in work.log()
    assert "has layout 99" in work.log()
    assert "Traceback" not in work.log()
    core.transport.send([(0, ("HSET", meta, "layout", LAYOUT))])


def test_queues_are_read_in_order_or_with_weights() -> None:
    in_order = (ServedQueue("mail"), ServedQueue("default"))
    assert read_queues("mail, default") == (in_order, False)
    weighted = (ServedQueue("mail", 3), ServedQueue("default", 0.5))
    assert read_queues("mail:3,default:0.5") == (weighted, True)
    assert read_queues("") == ((), False)


@pytest.mark.parametrize(
    "listed", ["mail:", "mail:x", ":3", "mail:0", "mail:-1", "mail:inf", "a,a"]
)
def test_invalid_queues_and_weights_are_refused(listed: str) -> None:
    with pytest.raises(InvalidArgument):
        read_queues(listed)
