"""Mypy and pyright, both strict, infer the types that public_api.py expects."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXPECTED = "tests/typing/public_api.py"


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_mypy_infers_the_expected_types(tmp_path: Path) -> None:
    command = ("-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "--follow-imports=silent")

    found = run(sys.executable, *command, EXPECTED)

    assert found.returncode == 0, found.stdout + found.stderr


def pyright() -> str:
    """Return the path of pyright, in the environment of these tests or on PATH."""
    beside_python = Path(sys.executable).parent / "pyright"
    found = str(beside_python) if beside_python.exists() else shutil.which("pyright")
    if found is None:
        pytest.skip("pyright is not installed: install the package `pyright`, which needs Node.js")
    return found


def test_pyright_infers_the_expected_types() -> None:
    found = run(pyright(), "--pythonpath", sys.executable, EXPECTED)

    assert found.returncode == 0, found.stdout + found.stderr
