"""The order of measurements, and the handling of competitors that fail."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.comparison.bench import Bench, Effort
from benchmarks.comparison.competitors import Competitor, several
from benchmarks.comparison.environments import InstallError
from benchmarks.comparison.registry import Figures, Workload
from benchmarks.comparison.run import Run
from benchmarks.comparison.trial import NotMeasured, stopped


def competitor_of(name: str, environment: str) -> Competitor:
    return Competitor(name, environment, ("put",), several("work"), workloads=frozenset({"put"}))


HEADRACE = competitor_of("ours", "")
HUEY, RQ = competitor_of("huey", "huey"), competitor_of("rq", "rq")
ALL = [HEADRACE, HUEY, RQ]


class Recorder:
    """A workload that records its competitors, and fails for the chosen competitor."""

    def __init__(self, failing: str = "", error: Exception | None = None) -> None:
        self.seen: list[str] = []
        self.failing = failing
        self.error = error or NotMeasured("broken")

    def __call__(self, _: Bench, competitor: Competitor) -> Figures:
        self.seen.append(competitor.name)
        if competitor.name == self.failing:
            raise self.error
        return {"rate": float(len(self.seen))}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(Bench({}, tmp_path, Effort(rounds=2)), Console(file=io.StringIO(), width=200))


def test_competitors_take_turns_in_each_round(run: Run) -> None:
    done = Recorder()

    run.measure(Workload("put", "putting", done), ALL)

    assert done.seen == ["ours", "huey", "rq"] * 2
    assert run.found["put"]["huey"] == {"rate": [2.0, 5.0]}


def test_rounds_factor_multiplies_the_rounds(run: Run) -> None:
    done = Recorder()

    run.measure(Workload("put", "putting", done, rounds_factor=3), ALL)

    assert done.seen == ["ours", "huey", "rq"] * 6


def test_competitors_run_a_long_workload_once(run: Run) -> None:
    done = Recorder()

    run.measure(Workload("put", "putting", done, once=True), ALL)

    assert done.seen == ["ours", "huey", "rq", "ours"]


def test_competitors_run_in_parallel_but_headrace_runs_alone(run: Run) -> None:
    done = Recorder()

    run.measure(Workload("put", "putting", done, once=True, parallel=2), ALL)

    assert done.seen[0] == done.seen[-1] == "ours"
    assert sorted(done.seen[1:-1]) == ["huey", "rq"]


@pytest.mark.parametrize("parallel", [1, 2])
@pytest.mark.parametrize("error", [NotMeasured("broken"), ValueError("broken"), OSError("broken")])
def test_failing_competitor_is_excluded_and_reported(
    run: Run, parallel: int, error: Exception
) -> None:
    done = Recorder("huey", error)

    run.measure(Workload("put", "putting", done, parallel=parallel), ALL)

    assert done.seen.count("huey") == 1
    assert set(run.found["put"]) == {"ours", "rq"}
    assert run.missing == {"huey, putting": "broken"}


def test_recorded_failure_contains_no_paths(run: Run) -> None:
    run.record_failure(
        "huey", 'File "/somewhere/else/app.py", line 3: redis://127.0.0.1:80/0 is gone, 1/2'
    )

    assert run.missing == {"huey": 'File "app.py", line 3: redis://127.0.0.1:80/0 is gone, 1/2'}


def test_competitor_without_the_workload_is_skipped(run: Run) -> None:
    done = Recorder()

    run.measure(Workload("drain", "draining", done), ALL)

    assert done.seen == []


def test_competitor_that_cannot_be_installed_is_reported(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(environment: str) -> None:
        if environment == "rq":
            raise InstallError("no network")

    monkeypatch.setattr("benchmarks.comparison.run.install", install)

    assert run.installed(ALL) == [HEADRACE, HUEY]
    assert run.missing == {"rq": "no network"}


def test_missing_server_is_reported_with_its_package(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.comparison.run.install", lambda _: None)
    monkeypatch.setattr("shutil.which", lambda _: None)
    beans = Competitor("beans", "beans", (), several(), server="beanstalkd")

    assert run.installed([HEADRACE, beans]) == [HEADRACE]
    assert "Debian has a package" in run.missing["beans"]


def test_interrupt_stops_trials_in_other_threads(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "print", interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            run.measure(Workload("put", "putting", Recorder(), parallel=2), [HUEY, RQ])
        assert stopped.is_set()
    finally:
        stopped.clear()


def interrupt(_: str) -> None:
    raise KeyboardInterrupt
