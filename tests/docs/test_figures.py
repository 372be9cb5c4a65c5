"""The figures in the documents come from the newest results."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks import cost_report
from benchmarks.comparison import results as kept
from benchmarks.cost_report import Cost, CostReport
from benchmarks.instructions.measure import Instructions
from benchmarks.scale import report
from benchmarks.scale.model import Costs, forecast
from benchmarks.scale.report import Scale, made
from tests.benchmarks.support.sample_results import results
from tools.docs import figures


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: Scale) -> Path:
    """A project with results and two documents with a place for them."""
    monkeypatch.setattr(kept, "PLACE", tmp_path)
    monkeypatch.setattr(report, "PLACE", tmp_path)
    monkeypatch.setattr(cost_report, "PLACE", tmp_path)
    results().write(partial=False)
    for name in figures.SECTIONS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"Before.\n\n{figures.BEGIN}\n\n{figures.END}\n\nAfter.\n")
    performance = tmp_path / figures.SCALE_IN
    marks = (figures.BEGIN_SCALE, figures.BEGIN_COSTS)
    places = "".join(f"{mark}\n{figures.END}\n\nAfter.\n" for mark in marks)
    performance.write_text(performance.read_text() + places)
    scale.write()
    costs().write()
    return tmp_path


@pytest.fixture
def scale() -> Scale:
    costs = {"rate": [3.0, 40_000.0, 50_000.0], "server_us": [25.0], "cpu_us": [20.0]}
    told = forecast(Costs(put_server=10.0, drain_server=30.0, worker=20.0), 3)
    return made(datetime(2026, 11, 1, tzinfo=UTC), 2, 1000, {"4": costs}, [told])


def costs() -> CostReport:
    return CostReport(
        at="2026-11-01T00:00:00+00:00",
        processor="x86_64",
        python="3.11.7",
        server="Valkey 9.1.2",
        costs=[Cost("put", 1.0, 12.0, 233.0, 4.0, 29.5)],
        instructions=[Instructions("put", 70_400.0, 178_900.0)],
    )


def test_documents_get_each_figure_once(root: Path) -> None:
    written = dict(figures.stale(root, root))

    assert {str(path.relative_to(root)) for path in written} == set(figures.SECTIONS)
    for path, text in written.items():
        assert text.startswith("Before.\n")
        assert text.endswith("\n\nAfter.\n")
        path.write_text(text)
    assert list(figures.stale(root, root)) == []
    assert "12,600" in (root / "README.md").read_text()
    performance = (root / "docs/internals/performance.md").read_text()
    assert "| put, of huey |" in performance
    assert "| 4 | 2 | 40,000 | 25 | 20 |" in performance
    assert performance.count("| 3 | 12 |") == 1
    assert performance.count("| put | 1 | 12 | 233 | 4 |") == 1
    assert performance.count("| put | 70 | 179 |") == 1


def test_new_results_make_documents_stale(root: Path) -> None:
    for path, text in figures.stale(root, root):
        path.write_text(text)
    results(put={"headrace": {"rate": [1.0]}}).write(partial=False)

    assert len(list(figures.stale(root, root))) == len(figures.SECTIONS)


def test_no_document_is_stale_without_results(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert list(figures.stale(root, tmp_path_factory.mktemp("empty"))) == []


def test_document_without_a_place_for_figures_is_refused(root: Path) -> None:
    (root / "README.md").write_text("no place")

    with pytest.raises(ValueError, match="no place for the tables"):
        list(figures.stale(root, root))
