"""The catalogue: stale days, valid builds, and builds that sweep removes."""

from __future__ import annotations

import os
import time
from datetime import date
from pathlib import Path

import pytest

from headrace.lake import catalogue
from headrace.lake.catalogue import NOTHING, Catalogue, DayBuild
from headrace.lake.files import LocalFiles
from headrace.lake.lake import LakeMoved

MON, TUE, WED = date(2026, 1, 5), date(2026, 1, 6), date(2026, 1, 7)


def built(day: date, events: int = 10, before: str = NOTHING, after: str = NOTHING) -> DayBuild:
    return DayBuild(
        day=day, events=events, before=before, after=after, build=f"b{day.day}", tables=("daily",)
    )


def counted(*days: DayBuild) -> Catalogue:
    return Catalogue(number=1, days=days)


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path)


def test_first_run_builds_all_days() -> None:
    assert catalogue.next_run(Catalogue(), {TUE: 1, MON: 1}) == [MON, TUE]


def test_unchanged_days_are_not_rebuilt() -> None:
    known = counted(built(MON, after="x"), built(TUE, before="x"))

    assert catalogue.next_run(known, {MON: 10, TUE: 10}) == []
    assert [each.day for each in catalogue.fresh(known, {MON: 10, TUE: 10})] == [MON, TUE]


def test_new_day_is_built_alone() -> None:
    assert catalogue.next_run(counted(built(MON), built(TUE)), {MON: 10, TUE: 10, WED: 1}) == [WED]


def test_late_events_rebuild_only_their_day() -> None:
    known = counted(built(MON), built(TUE), built(WED))

    assert catalogue.next_run(known, {MON: 11, TUE: 10, WED: 10}) == [MON]
    assert catalogue.fresh(known, {MON: 11, TUE: 10, WED: 10}) == []


def test_day_is_rebuilt_when_carried_events_change() -> None:
    known = counted(
        built(MON, after="new"), built(TUE, before="old", after="y"), built(WED, 10, "y")
    )

    assert catalogue.next_run(known, {MON: 10, TUE: 10, WED: 10}) == [TUE]


def test_days_built_by_earlier_version_are_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    known = counted(built(MON))
    monkeypatch.setattr(catalogue, "VERSION", catalogue.VERSION + 1)

    assert catalogue.next_run(known, {MON: 10}) == [MON]


def test_commit_replaces_builds_of_same_day(files: LocalFiles) -> None:
    first = catalogue.commit(files, Catalogue(), [built(MON), built(TUE)])
    again = built(MON, events=11)

    catalogue.commit(files, first, [again])

    assert catalogue.newest(files) == Catalogue(number=2, days=(again, built(TUE)))


def test_second_of_two_rollup_commits_is_refused(files: LocalFiles) -> None:
    catalogue.commit(files, Catalogue(), [built(MON)])

    with pytest.raises(LakeMoved, match="run the rollup again"):
        catalogue.commit(files, Catalogue(), [built(MON, events=12)])

    assert catalogue.newest(files).days == (built(MON),)


def test_missing_catalogue_is_empty(files: LocalFiles) -> None:
    assert catalogue.newest(files) == Catalogue()


def write_build(root: Path, day: date, *, age: float) -> Path:
    file = root / catalogue.folder_of("daily", f"b{day.day}") / f"day={day}" / "part-0.parquet"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    os.utime(file, (time.time() - age,) * 2)
    return file


def test_sweep_removes_builds_replaced_before_grace(tmp_path: Path, files: LocalFiles) -> None:
    replaced, dead = write_build(tmp_path, MON, age=900), write_build(tmp_path, TUE, age=900)
    begun, counts = (
        write_build(tmp_path, date(2026, 1, 8), age=1),
        write_build(tmp_path, WED, age=900),
    )
    first = catalogue.commit(files, Catalogue(), [built(MON)])
    another = DayBuild(day=MON, events=11, before="", after="", build="b7", tables=("daily",))
    catalogue.commit(files, first, [another])

    catalogue.sweep(files, grace=600)
    assert [file.exists() for file in (replaced, dead, begun, counts)] == [True, False, True, True]

    for found in (tmp_path / catalogue.CATALOGUE).iterdir():
        os.utime(found, (time.time() - 900,) * 2)
    catalogue.sweep(files, grace=600)

    assert [file.exists() for file in (replaced, begun, counts)] == [False, True, True]
    assert catalogue.newest(files).days == (another,)
