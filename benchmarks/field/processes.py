"""Trees of processes: how they are started, what they use, and that none stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks.field.homes import ROOT

PROC = Path("/proc")
POLL = 0.01
TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def running(
    command: Iterable[str], settings: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A process of this repository, until the block ends; its whole tree ends with it."""
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
    """End all that came of it, at once: what it still has to say nobody wants to know.

    The session that `running` made is the proof that a process is ours to end.
    """
    while members := [pid for pid, found in _stats().items() if found.session == process.pid]:
        kill(members)
        process.poll()
        time.sleep(POLL)
    process.wait()


def kill(pids: Iterable[int]) -> None:
    """End these at once, as a crash would."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _stats() -> dict[int, Stat]:
    """All processes that there are; those that have ended and wait for their parents are not."""
    found: dict[int, Stat] = {}
    for entry in PROC.glob("[0-9]*"):
        with suppress(OSError):
            found[int(entry.name)] = stat_fields((entry / "stat").read_text())
    return {pid: each for pid, each in found.items() if each.state != "Z"}


def tree(root: int) -> list[int]:
    """A process and all that come of it, parents first."""
    return descendants(root, {pid: found.parent for pid, found in _stats().items()})


def descendants(root: int, parents: Mapping[int, int]) -> list[int]:
    found = [root] if root in parents else []
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


class Stat(NamedTuple):
    """What /proc/<pid>/stat says of a process."""

    state: str
    parent: int
    session: int
    ticks: int


def stat_fields(text: str) -> Stat:
    """The name may hold blanks and brackets."""
    fields = text.rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return Stat(fields[0], int(fields[1]), int(fields[3]), ticks)


def rollup_kib(text: str) -> tuple[int, int]:
    """Pss and Rss in /proc/<pid>/smaps_rollup."""
    sizes = dict(line.split()[:2] for line in text.splitlines()[1:])
    return int(sizes["Pss:"]), int(sizes["Rss:"])


def memory_mib(root: int) -> tuple[float, float]:
    """Pss and Rss of a tree; Pss counts what processes share only once."""
    pss = rss = 0
    for pid in tree(root):
        with suppress(OSError):
            more = rollup_kib((PROC / str(pid) / "smaps_rollup").read_text())
            pss, rss = pss + more[0], rss + more[1]
    return pss / 1024, rss / 1024


def cpu_seconds(root: int) -> float:
    """What a tree has used of processors until now."""
    ticks = 0
    for pid in tree(root):
        with suppress(OSError):
            ticks += stat_fields((PROC / str(pid) / "stat").read_text()).ticks
    return ticks / TICKS
