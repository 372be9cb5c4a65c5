"""What worker processes wrote is read at any moment."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import generate_latest
from prometheus_client.mmap_dict import MmapedDict, mmap_key

from headrace.telemetry.serving import Written, registry_of


def test_a_process_that_is_just_beginning_to_write_keeps_nobody_from_reading(
    tmp_path: Path,
) -> None:
    """Its file is there before it has a size; so it stays if the process is killed then."""
    written = MmapedDict(str(tmp_path / "counter_1.db"))
    written.write_value(mmap_key("runs", "runs_total", [], [], "about"), 3.0, 0.0)
    written.close()
    (tmp_path / "counter_2.db").touch()

    assert b"runs_total 3.0" in generate_latest(registry_of(Written(str(tmp_path))))
