"""Metric files can be read at any time."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import generate_latest
from prometheus_client.mmap_dict import MmapedDict, mmap_key

from headrace.telemetry.metrics_process import MetricFiles, registry_of


def test_empty_metric_file_is_skipped(
    tmp_path: Path,
) -> None:
    """A process may be killed after it has created its file and before it has written to it."""
    written = MmapedDict(str(tmp_path / "counter_1.db"))
    written.write_value(mmap_key("runs", "runs_total", [], [], "about"), 3.0, 0.0)
    written.close()
    (tmp_path / "counter_2.db").touch()

    assert b"runs_total 3.0" in generate_latest(registry_of(MetricFiles(str(tmp_path))))
