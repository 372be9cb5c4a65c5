"""The example examples/spark_stages.py: a pipeline of Spark and ordinary workers."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "spark_stages.py"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("spark_stages", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_stages_example_prints_expected_results(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADRACE_URL", valkey_url)
    load().main()
    printed = capfd.readouterr().out
    assert "clean: 0 complete, 5 failed, 0 left" in printed
    assert "failures: {'NoNumber': 5, 'TooHigh': 49}" in printed
    assert "score: 0 complete, 49 failed, 0 left" in printed
    assert "store: 4946 complete, 0 failed, 0 left" in printed
    assert "one of them: sensor-1 usual" in printed
    way = re.findall(r"^  popped +(\w+) ([a-z]+)", printed, re.MULTILINE)
    assert way[:2] == [("clean", "cleaner"), ("score", "spark")]
    assert [queue for queue, _ in way] == ["clean", "score", "store"]
