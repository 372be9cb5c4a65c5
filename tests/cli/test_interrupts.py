"""Ctrl-C ends a command with exit code 130 and without a traceback, whenever it is pressed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

RUN = """
import atexit, os, signal, sys

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == moment:
            interrupt()

moment = sys.argv[1]
sys.meta_path.insert(0, Interrupting())
if moment == "at the end":
    atexit.register(interrupt)
from headrace.cli.entry import main
sys.argv = ["headrace", *sys.argv[2:]]
main()
"""


def run(
    moment: str, url: str, word: str = "queues", handler: signal.Handlers = signal.SIG_DFL
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN, moment, word],
        env={**os.environ, "HEADRACE_URL": url, "HEADRACE_NAMESPACE": "default"},
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, handler),
        check=False,
    )


@pytest.mark.parametrize("moment", ["click", "headrace.cli.queues", "redis", "at the end"])
def test_ctrl_c_exits_with_130(moment: str, valkey_url: str) -> None:
    ended = run(moment, valkey_url)

    assert "Traceback" not in ended.stderr
    assert ended.returncode == 130


def test_command_that_ignores_ctrl_c_runs_to_its_end(valkey_url: str) -> None:
    assert run("click", valkey_url, "--version", signal.SIG_IGN).returncode == 0
