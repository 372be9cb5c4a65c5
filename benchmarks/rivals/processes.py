"""Trees of processes: how they are started, what they use, and that none stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.rivals.field import ROOT

PROC = Path("/proc")
GRACE = 10.0
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
    """Ask the first of a tree to end, then make all of it end."""
    members = tree(process.pid)
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    members += tree(process.pid)
    kill(member for member in members if _group(member) == process.pid)
    process.wait()


def kill(pids: Iterable[int]) -> None:
    """End these at once, as a crash would."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _group(pid: int) -> int | None:
    """The session that `running` made is the proof that a process is ours to end."""
    with suppress(ProcessLookupError):
        return os.getsid(pid)
    return None


def tree(root: int) -> list[int]:
    """A process and all that come of it, parents first."""
    parents: dict[int, int] = {}
    for entry in PROC.glob("[0-9]*"):
        with suppress(OSError):
            parents[int(entry.name)] = stat_fields((entry / "stat").read_text())[1]
    return descendants(root, parents)


def descendants(root: int, parents: Mapping[int, int]) -> list[int]:
    found = [root] if root in parents else []
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def stat_fields(text: str) -> tuple[str, int, int]:
    """State, parent and CPU ticks in /proc/<pid>/stat; the name may hold blanks and brackets."""
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[1]), int(fields[11]) + int(fields[12])


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
            ticks += stat_fields((PROC / str(pid) / "stat").read_text())[2]
    return ticks / TICKS
