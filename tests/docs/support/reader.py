"""Execute the steps of a page as a reader would: steps come from stdin, outputs go to stdout.

Python blocks run in this process, commands and workers in other processes. If this process has a
Spark session, commands run here too, so that they do not start their own. The output of a worker is
its log.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HEADRACE = [sys.executable, "-W", "error", "-c", "from headrace.cli.main import main; main()"]


def main() -> None:
    """Run all steps in order, then stop the workers."""
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs: list[str] = []
    workers: dict[int, tuple[subprocess.Popen[bytes], Any]] = {}
    try:
        for kind, where, text in json.load(sys.stdin):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                if kind == "begin":
                    workers[len(outputs)] = _begin(text)
                else:
                    _do(kind, where, text, names)
            outputs.append(printed.getvalue())
    finally:
        for at, (worker, log) in workers.items():
            worker.terminate()
            worker.wait()
            log.seek(0)
            outputs[at] = log.read().decode()
    print(json.dumps(outputs))


def _do(kind: str, where: str, text: str, names: dict[str, Any]) -> None:
    if kind == "file":
        Path(text.split()[1]).write_text(text)
    elif kind == "run" and "pyspark" in sys.modules:
        _run_here(text)
    elif kind == "run":
        print(subprocess.run(_command(text), check=True, capture_output=True, text=True).stdout)
    else:
        exec(compile(text, where, "exec"), names)  # noqa: S102 - the blocks are part of this repository


def _run_here(text: str) -> None:
    from headrace.cli.main import main as headrace  # noqa: PLC0415 - only if this process has a Spark session

    sys.argv = _command(text)[len(HEADRACE) - 1 :]
    try:
        headrace()
    except SystemExit as ended:
        if ended.code:
            raise ValueError(f"{text} ended with {ended.code}") from ended


def _begin(text: str) -> tuple[subprocess.Popen[bytes], Any]:
    log = tempfile.TemporaryFile()  # noqa: SIM115 - read after the worker has stopped
    return subprocess.Popen(_command(text), stderr=log), log


def _command(line: str) -> list[str]:
    program, *arguments = shlex.split(os.path.expandvars(line))
    if program != "headrace":
        raise ValueError(f"nothing runs {program}")
    return [*HEADRACE, *arguments]


if __name__ == "__main__":
    main()
