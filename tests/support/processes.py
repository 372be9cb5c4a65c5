"""Python programs as processes of their own, and whether a process still is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def start_python(code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """A running program that reads from and writes to us."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run_python(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A program that has ended."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def gone(pid: int) -> bool:
    """Whether the process is dead; one that nobody has reaped yet is dead, too."""
    found = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state = found.stdout.strip()
    # With threads left (l) it still holds its files, though its first thread is over.
    return not state or (state.startswith("Z") and "l" not in state)
