"""Start, measure and end process trees."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.comparison.environments import ROOT

PROC = Path("/proc")
POLL = 0.01
TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def running(
    command: Iterable[str], settings: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in the repository until the block ends, then end its whole process tree."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(command),
            cwd=ROOT,
            env=os.environ | settings,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill every process in the session of this process; their output is no longer needed.

    `running` created the session, so the session contains only processes of the trial.
    """
    while members := [pid for pid, found in _stats().items() if found.session == process.pid]:
        kill(members)
        process.poll()
        time.sleep(POLL)
    process.wait()


def kill(pids: Iterable[int]) -> None:
    """Send SIGKILL to these processes, like a crash."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _stats() -> dict[int, Stat]:
    """Return all processes except zombies."""
    found: dict[int, Stat] = {}
    for entry in PROC.glob("[0-9]*"):
        with suppress(OSError):
            found[int(entry.name)] = stat_fields((entry / "stat").read_text())
    return {pid: each for pid, each in found.items() if each.state != "Z"}


def tree(root: int) -> list[int]:
    """Return a process and its descendants, parents first."""
    return descendants(root, {pid: found.parent for pid, found in _stats().items()})


def descendants(root: int, parents: Mapping[int, int]) -> list[int]:
    found = [root] if root in parents else []
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


class Stat(NamedTuple):
    """The fields of /proc/<pid>/stat that we use."""

    state: str
    parent: int
    session: int
    ticks: int


def stat_fields(text: str) -> Stat:
    """Parse /proc/<pid>/stat; the name of the process may contain blanks and brackets."""
    fields = text.rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return Stat(fields[0], int(fields[1]), int(fields[3]), ticks)


def rollup_kib(text: str) -> tuple[int, int]:
    """Return Pss and Rss from the text of /proc/<pid>/smaps_rollup."""
    sizes = dict(line.split()[:2] for line in text.splitlines()[1:])
    return int(sizes["Pss:"]), int(sizes["Rss:"])


def memory_mib(root: int) -> tuple[float, float]:
    """Return Pss and Rss of a process tree; Pss counts shared memory only once."""
    pss = rss = 0
    for pid in tree(root):
        with suppress(OSError):
            more = rollup_kib((PROC / str(pid) / "smaps_rollup").read_text())
            pss, rss = pss + more[0], rss + more[1]
    return pss / 1024, rss / 1024


def cpu_seconds(root: int) -> float:
    """Return the CPU time that a process tree has used so far."""
    ticks = 0
    for pid in tree(root):
        with suppress(OSError):
            ticks += stat_fields((PROC / str(pid) / "stat").read_text()).ticks
    return ticks / TICKS
