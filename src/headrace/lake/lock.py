"""Who works on a lake. A lock saves work; that nothing is doubled does not depend on it."""

from __future__ import annotations

import os
import socket
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
        """Shows that the holder lives; to be called more often than a lock expires."""
        now = time.time()
        if now - self._holder.told > EXPIRES / 10:
            self._holder = msgspec.structs.replace(self._holder, told=now)
            self._files.delete(self._path)
            self._files.create(self._path, packed(self._holder))


@contextmanager
def held(files: Files, what: str) -> Iterator[Lock]:
    """Holds the lock for a kind of work; raises LakeBusy if another process holds it."""
    path = f"{FOLDER}/{what}.json"
    mine = Holder(
        host=socket.gethostname(), pid=os.getpid(), began=_began(os.getpid()), told=time.time()
    )
    while not files.create(path, packed(mine)):
        other = _holder(files, path)
        if other is not None and _lives(other):
            raise LakeBusy(
                f"another {what} of the lake in {files} is running: process {other.pid} on "
                f"{other.host}"
            )
        files.delete(path)
    try:
        yield Lock(files, path, mine)
    finally:
        files.delete(path)


def _holder(files: Files, path: str) -> Holder | None:
    try:
        return unpacked(Holder, path, files.read(path))
    except (FileNotFoundError, LakeUnreadable):
        return None


def _lives(holder: Holder) -> bool:
    if holder.host == socket.gethostname():
        return holder.began != "" and _began(holder.pid) == holder.began
    return time.time() - holder.told < EXPIRES


def _began(pid: int) -> str:
    """When a process began, in ticks since the machine did; empty if it is no more."""
    try:
        # The name of the command, in parentheses, may itself have spaces.
        about = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if about[0] in "ZX" else about[19]
