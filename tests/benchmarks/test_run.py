"""Who is measured when, and what becomes of those who fail."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.field.bench import Bench, Effort
from benchmarks.field.contestants import Contestant, several
from benchmarks.field.homes import CannotInstall
from benchmarks.field.parts import Figures, Part
from benchmarks.field.run import Run
from benchmarks.field.turn import NotMeasured, stopped


def contestant(name: str, home: str) -> Contestant:
    return Contestant(name, home, ("put",), several("work"), parts=frozenset({"put"}))


OURS, HUEY, RQ = contestant("ours", ""), contestant("huey", "huey"), contestant("rq", "rq")
FIELD = [OURS, HUEY, RQ]


class Recorder:
    """A workload that notes who did it; who is to fail fails."""

    def __init__(self, failing: str = "", error: Exception | None = None) -> None:
        self.seen: list[str] = []
        self.failing = failing
        self.error = error or NotMeasured("broken")

    def __call__(self, _: Bench, who: Contestant) -> Figures:
        self.seen.append(who.name)
        if who.name == self.failing:
            raise self.error
        return {"rate": float(len(self.seen))}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(Bench({}, tmp_path, Effort(rounds=2)), Console(file=io.StringIO(), width=200))


def test_all_have_a_turn_and_then_all_again(run: Run) -> None:
    done = Recorder()

    run.do(Part("put", "putting", done), FIELD)

    assert done.seen == ["ours", "huey", "rq"] * 2
    assert run.found["put"]["huey"] == {"rate": [2.0, 5.0]}


def test_what_depends_on_the_minute_is_done_more_often(run: Run) -> None:
    done = Recorder()

    run.do(Part("put", "putting", done, often=3), FIELD)

    assert done.seen == ["ours", "huey", "rq"] * 6


def test_what_takes_minutes_rivals_do_once(run: Run) -> None:
    done = Recorder()

    run.do(Part("put", "putting", done, once=True), FIELD)

    assert done.seen == ["ours", "huey", "rq", "ours"]


def test_several_may_do_it_at_the_same_time_but_ours_does_it_alone(run: Run) -> None:
    done = Recorder()

    run.do(Part("put", "putting", done, once=True, together=2), FIELD)

    assert done.seen[0] == done.seen[-1] == "ours"
    assert sorted(done.seen[1:-1]) == ["huey", "rq"]


@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize("error", [NotMeasured("broken"), ValueError("broken"), OSError("broken")])
def test_who_fails_is_left_out_and_named(run: Run, together: int, error: Exception) -> None:
    done = Recorder("huey", error)

    run.do(Part("put", "putting", done, together=together), FIELD)

    assert done.seen.count("huey") == 1
    assert set(run.found["put"]) == {"ours", "rq"}
    assert run.missing == {"huey, putting": "broken"}


def test_what_is_kept_of_a_failure_names_no_place_of_this_machine(run: Run) -> None:
    run.miss("huey", 'File "/somewhere/else/app.py", line 3: redis://127.0.0.1:80/0 is gone, 1/2')

    assert run.missing == {"huey": 'File "app.py", line 3: redis://127.0.0.1:80/0 is gone, 1/2'}


def test_who_has_no_part_in_it_is_not_asked(run: Run) -> None:
    done = Recorder()

    run.do(Part("drain", "draining", done), FIELD)

    assert done.seen == []


def test_who_cannot_be_installed_is_named_and_not_measured(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(home: str) -> None:
        if home == "rq":
            raise CannotInstall("no network")

    monkeypatch.setattr("benchmarks.field.run.install", install)

    assert run.installed(FIELD) == [OURS, HUEY]
    assert run.missing == {"rq": "no network"}


def test_a_server_that_is_not_there_is_named_with_where_to_get_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.field.run.install", lambda _: None)
    monkeypatch.setattr("shutil.which", lambda _: None)
    beans = Contestant("beans", "beans", (), several(), server="beanstalkd")

    assert run.installed([OURS, beans]) == [OURS]
    assert "Debian has a package" in run.missing["beans"]


def test_who_ends_it_ends_those_in_other_threads_too(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "say", interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            run.do(Part("put", "putting", Recorder(), together=2), [HUEY, RQ])
        assert stopped.is_set()
    finally:
        stopped.clear()


def interrupt(_: str) -> None:
    raise KeyboardInterrupt
