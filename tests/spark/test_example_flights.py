"""The example examples/flights.py, on a real data set."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "flights.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("flights", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("spark")
def test_flights_example_prints_expected_results(
    valkey_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HEADRACE_URL", valkey_url)
    monkeypatch.chdir(tmp_path)

    load().run(5000)

    said = capsys.readouterr().out
    assert "5,000 jobs; a second run puts none" in said
    assert "4,950 completed, 50 failed" in said
    assert "22 letters" in said
    assert "5,000 jobs audited, 0 problems" in said
    events = re.findall(r"([\d,]+) events", said)
    assert len(set(events)) == 1
    assert re.search(r"^\|airline +\|flights\|lost_percent\|$", said, re.MULTILINE)
    assert (tmp_path / "flights.png").read_bytes().startswith(b"\x89PNG")
