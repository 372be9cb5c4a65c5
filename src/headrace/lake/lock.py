"""Who works on a lake. A lock saves work; that nothing is doubled does not depend on it."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from headrace.errors import HeadraceError
from headrace.lake.files import Files
from headrace.lake.manifest import LakeUnreadable, Value, packed, unpacked

FOLDER = "locks"
EXPIRES = 600.0
"""After so many seconds without a word a holder on another machine is taken for dead."""

PROC = Path("/proc")
"""Where Linux tells of processes; on other machines ps does."""

GONE = "ZX"
"""The states of a process that is dead and not yet buried."""


class LakeBusy(HeadraceError):
    """Somebody else does this with the lake at the moment."""


class Holder(Value, frozen=True):
    """Who holds a lock: a process of a machine, by when the process began."""

    host: str
    pid: int
    began: str
    told: float


class Lock:
    """A lock that is held, and says so again from time to time."""

    def __init__(self, files: Files, path: str, holder: Holder) -> None:
        self._files = files
        self._path = path
        self._holder = holder

    def renew(self) -> None:
        """Shows that the holder lives; to be called more often than a lock expires.

        Raises LakeBusy if it was silent for so long that another has taken the lock.
        """
        now = time.time()
        if now - self._holder.told > EXPIRES / 10:
            self.release()
            self._holder = msgspec.structs.replace(self._holder, told=now)
            if not self._files.create(self._path, packed(self._holder)):
                raise LakeBusy(
                    f"another process has taken the lake in {self._files} over, as this one said "
                    "nothing for long: it may have slept; run it again"
                )

    def release(self) -> None:
        """Gives the lock back, unless it is another's by now."""
        if _holder(self._files, self._path) == self._holder:
            self._files.delete(self._path)


@contextmanager
def held(files: Files, what: str) -> Iterator[Lock]:
    """Holds the lock for a kind of work; raises LakeBusy if another process holds it."""
    path = f"{FOLDER}/{what}.json"
    began = _began(os.getpid()) or ""
    mine = Holder(host=socket.gethostname(), pid=os.getpid(), began=began, told=time.time())
    while not files.create(path, packed(mine)):
        other = _holder(files, path)
        if other is not None and _lives(other):
            raise LakeBusy(
                f"another {what} of the lake in {files} is running: process {other.pid} on "
                f"{other.host}"
            )
        files.delete(path)
    lock = Lock(files, path, mine)
    try:
        yield lock
    finally:
        lock.release()


def _holder(files: Files, path: str) -> Holder | None:
    try:
        return unpacked(Holder, path, files.read(path))
    except (FileNotFoundError, LakeUnreadable):
        return None


def _lives(holder: Holder) -> bool:
    began = _began(holder.pid) if holder.host == socket.gethostname() else None
    if began is None or not holder.began:
        return time.time() - holder.told < EXPIRES
    return began == holder.began


def _began(pid: int) -> str | None:
    """When a process of this machine began; empty if it is no more, None if that is not known."""
    if not PROC.is_dir():
        return _told_by_ps(pid)
    try:
        # The name of the command, in parentheses, may itself have spaces.
        about = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if about[0] in GONE else about[19]


def _told_by_ps(pid: int) -> str | None:
    # Not one -o for both: what follows the first = would be a heading.
    command = ("ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid))
    always_so = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.environ.get("PATH", os.defpath)}
    try:
        told = subprocess.run(command, capture_output=True, text=True, env=always_so, check=False)
    except OSError:
        return None
    about = told.stdout.split()
    return "" if not about or about[0][0] in GONE else " ".join(about[1:])
