"""A process under `valgrind --tool=callgrind`, and the instructions it executes between two points.

The process runs without instrumentation until `start_counting`, so neither its start nor its
warm-up counts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STOP_TIMEOUT = 60.0
_TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def is_available() -> bool:
    """Return whether valgrind and its control program are installed."""
    return bool(shutil.which("valgrind") and shutil.which("vgdb"))


class InstructionCounter:
    """Counts the instructions of one process that runs under callgrind."""

    def __init__(self, directory: Path, pid: int) -> None:
        self.pid = pid
        self._directory = directory

    def start_counting(self) -> None:
        """Turn instrumentation on and set the counter to zero."""
        self._send("instrumentation on")
        self._send("zero")

    def stop_counting(self) -> int:
        """Turn instrumentation off and return the instructions executed since the start."""
        before = set(self._dumps())
        self._send("dump")
        self._send("instrumentation off")
        [dump] = set(self._dumps()) - before
        found = _TOTAL.search(dump.read_text())
        if found is None:
            raise RuntimeError(f"callgrind wrote no total into {dump}")
        return int(found[1])

    def _dumps(self) -> list[Path]:
        return list(self._directory.glob(f"callgrind.{self.pid}.*"))

    def _send(self, command: str) -> None:
        subprocess.run(
            [
                _path_of("vgdb"),
                f"--vgdb-prefix={_pipe_prefix(self._directory)}",
                f"--pid={self.pid}",
                command,
            ],
            check=True,
            capture_output=True,
        )


@contextmanager
def run_under_callgrind(
    command: Sequence[str], directory: Path, env: Mapping[str, str], **pipes: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command under callgrind in `directory` until the block ends.

    Processes that the command forks are counted separately: by a counter for their own pid.
    """
    valgrind = [
        _path_of("valgrind"),
        "--quiet",
        "--tool=callgrind",
        "--instr-atstart=no",
        # If valgrind did not trace child processes, vgdb could not reach a forked process.
        "--trace-children=yes",
        f"--vgdb-prefix={_pipe_prefix(directory)}",
        f"--callgrind-out-file={directory}/callgrind.%p",
    ]
    with (
        (directory / "valgrind.log").open("ab") as log,
        subprocess.Popen(
            [*valgrind, *command],
            cwd=directory,
            env={**os.environ, **env},
            **{"stdout": log, "stderr": log, **pipes},
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()


def _path_of(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise FileNotFoundError(f"{program} is not installed; install the package valgrind")
    return path


def _pipe_prefix(directory: Path) -> Path:
    return directory / "vgdb-pipe"
