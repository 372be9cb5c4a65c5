from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.field import plot, report
from benchmarks.field import results as kept
from tests.benchmarks.field import results


def test_a_table_has_medians_and_a_dash_where_nothing_was_measured() -> None:
    [putting] = [sheet for sheet in report.sheets(results()) if sheet.title == "Putting"]
    rows = {row[0]: row[1:] for row in putting.rows}

    assert rows["headrace"] == ("12,600", "20", "30", "63,000", "20.5", "30.5", "500")
    assert rows["huey"] == ("10,500", "20", "30", "-", "-", "-", "240")


def test_the_rows_are_in_the_order_of_the_field_and_ours_is_first() -> None:
    [draining] = [sheet for sheet in report.sheets(results()) if sheet.title == "Draining"]

    names = [row[0] for row in draining.rows]
    assert names == ["headrace", "celery", "huey", "ardiq", "bullmq", "bee-queue", "beanstalkd"]


def test_a_page_says_when_with_what_and_what_is_missing() -> None:
    found = results()
    page = "\n".join(report.page(found))

    assert f"Measured on {found.day}" in page
    assert "valkey 9.0" in page
    assert "huey 3." in page
    assert "| put, of huey | 1.20 x | at least 1.2 x | reached |" in page
    assert "- ardiq: it needs another Python" in page


def test_the_summary_names_the_best_of_both_kinds_and_none_that_loses_jobs() -> None:
    rows = {row[0]: row[1:] for row in report.summary(results()).rows}

    assert rows["put one at a time, jobs/s"] == ("12,600", "11,550 (bee-queue)", "10,500 (huey)")
    assert rows["killed worker: until its jobs run again, s"] == ("2.5", "60.0 (bullmq)", "-")


def test_results_are_read_as_they_were_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kept, "PLACE", tmp_path)
    found = results()

    path = found.write(partial=False)

    assert kept.read(path) == found
    assert kept.newest(tmp_path) == path


def test_a_part_that_was_measured_anew_takes_the_place_of_the_old_one_and_is_named() -> None:
    earlier, later = results(), results(latency={"headrace": {"p50": [0.3], "p99": [0.4]}})
    earlier.missing["huey, from put to start when idle"] = "it was late"
    later = replace(later, at="2026-11-19T05:00:00", found={"latency": later.found["latency"]})

    renewed = kept.renewed(earlier, later, {"latency": "from put to start when idle"})

    assert renewed.found == {**earlier.found, **later.found}
    assert renewed.missing == results().missing
    assert renewed.day == earlier.day
    assert "until 2026-11-19T05:00:00: latency." in "\n".join(report.page(renewed))


def test_a_part_that_could_not_be_measured_anew_is_not_there() -> None:
    later = replace(results(), found={}, missing={"headrace, putting": "broken"})

    renewed = kept.renewed(results(), later, {"put": "putting"})

    assert "put" not in renewed.found
    assert renewed.missing == {**results().missing, **later.missing}


def test_what_was_ended_early_is_never_the_newest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kept, "PLACE", tmp_path)

    results().write(partial=True)

    assert kept.newest(tmp_path) is None


def test_the_picture_is_a_picture(tmp_path: Path) -> None:
    plot.draw(results(), tmp_path / "field.png")

    assert (tmp_path / "field.png").read_bytes().startswith(b"\x89PNG")
