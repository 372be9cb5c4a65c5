"""Helpers to run Python programs as processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def start_python(code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """Start a program; the caller can write to it and read from it."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run_python(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def gone(pid: int) -> bool:
    """Return whether the process is dead, even if it has not been reaped."""
    found = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state = found.stdout.strip()
    # A zombie with other threads (l) still holds its files, although its main thread has ended.
    return not state or (state.startswith("Z") and "l" not in state)
