from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.comparison import plot, report
from benchmarks.comparison import results as kept
from tests.benchmarks.support.sample_results import results


def test_table_has_medians_and_a_dash_for_missing_figures() -> None:
    [put] = [sheet for sheet in report.sheets(results()) if sheet.title == "Put"]
    rows = {row[0]: row[1:] for row in put.rows}

    assert rows["headrace"] == ("12,600", "20", "30", "63,000", "20.5", "30.5", "500")
    assert rows["huey"] == ("10,500", "20", "30", "-", "-", "-", "240")


def test_rows_have_a_fixed_order_with_headrace_first() -> None:
    [drain] = [sheet for sheet in report.sheets(results()) if sheet.title == "Drain"]

    names = [row[0] for row in drain.rows]
    assert names == ["headrace", "celery", "huey", "ardiq", "bullmq", "bee-queue", "beanstalkd"]


def test_page_has_date_versions_and_missing_figures() -> None:
    found = results()
    page = "\n".join(report.page(found))

    assert f"Measured on {found.day}" in page
    assert "valkey 9.0" in page
    assert "huey 3." in page
    assert "| put, of huey | 1.20 x | at least 1.2 x | reached |" in page
    assert "- ardiq: it needs another Python" in page


def test_summary_has_the_best_of_both_kinds_without_lost_jobs() -> None:
    rows = {row[0]: row[1:] for row in report.summary(results()).rows}

    assert rows["put one at a time, jobs/s"] == ("12,600", "11,550 (bee-queue)", "10,500 (huey)")
    assert rows["killed worker: time until its jobs run again, s"] == ("2.5", "60.0 (bullmq)", "-")


def test_results_survive_writing_and_reading(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kept, "PLACE", tmp_path)
    found = results()

    path = found.write(partial=False)

    assert kept.read(path) == found
    assert kept.newest(tmp_path) == path


def test_replaced_workload_is_updated_and_named() -> None:
    earlier, later = results(), results(latency={"headrace": {"p50": [0.3], "p99": [0.4]}})
    earlier.missing["huey, from put to start when idle"] = "it was slow"
    later = replace(later, at="2026-11-19T05:00:00", found={"latency": later.found["latency"]})

    renewed = kept.renewed(earlier, later, {"latency": "from put to start when idle"})

    assert renewed.found == {**earlier.found, **later.found}
    assert renewed.missing == results().missing
    assert renewed.day == earlier.day
    assert (
        "The workload latency was measured again with all competitors, in a run that ended at "
        "2026-11-19T05:00:00.\n"
    ) in "\n".join(report.page(renewed))


def test_workload_without_new_figures_is_removed() -> None:
    later = replace(results(), found={}, missing={"headrace, putting": "broken"})

    renewed = kept.renewed(results(), later, {"put": "putting"})

    assert "put" not in renewed.found
    assert renewed.missing == {**results().missing, **later.missing}


def test_interrupted_run_is_never_the_newest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(kept, "PLACE", tmp_path)

    results().write(partial=True)

    assert kept.newest(tmp_path) is None


def test_plot_is_a_png_file(tmp_path: Path) -> None:
    plot.draw(results(), tmp_path / "comparison.png")

    assert (tmp_path / "comparison.png").read_bytes().startswith(b"\x89PNG")
