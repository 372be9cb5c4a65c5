"""Locks that keep two processes from doing the same work on a lake at the same time.

A commit is safe without a lock: of two writers one gets LakeMoved. A lock only saves the work.
The exception is object stores without an atomic rename, such as s3a://.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.lake.files import Files, LocalFiles
from headrace.lake.manifest import LakeRecord, LakeUnreadable, packed, unpacked

FOLDER = "locks"
EXPIRES = 600.0
"""On other file systems: the seconds after which a holder that does not renew loses its lock."""


class LakeBusy(HeadraceError):
    """Another process does the same work on the lake."""


class LakeLock:
    """A lock that this process holds. The kernel releases it when the process ends."""

    def renew(self) -> None:
        """Extend the lock if it expires. Raises LakeBusy if another process has taken it over."""


def held(files: Files, what: str) -> AbstractContextManager[LakeLock]:
    """Hold the lock for a kind of work, such as "sync".

    Raises LakeBusy if another process holds it.
    """
    return (_local_lock if isinstance(files, LocalFiles) else _remote_lock)(files, what)


def _busy(files: Files, what: str, holder: str) -> LakeBusy:
    return LakeBusy(f"another {what} of the lake in {files} is running: {holder}; wait for its end")


@contextmanager
def _local_lock(files: Files, what: str) -> Iterator[LakeLock]:
    path = Path(str(files)) / FOLDER / f"{what}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise _busy(files, what, file.read() or "an unknown process") from None
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield LakeLock()


class LockHolder(LakeRecord, frozen=True):
    """The process that holds a lock, and when it last renewed the lock."""

    host: str
    pid: int
    renewed: float


def _me() -> LockHolder:
    return LockHolder(host=socket.gethostname(), pid=os.getpid(), renewed=time.time())


class _RemoteLock(LakeLock):
    """A lock file on a file system without flock. It expires if its holder does not renew it."""

    def __init__(self, files: Files, path: str, holder: LockHolder) -> None:
        self._files = files
        self._path = path
        self._holder = holder

    def renew(self) -> None:
        """Write the lock file again if a tenth of its lifetime has passed.

        Raises LakeBusy if another process has taken the lock over.
        """
        if time.time() - self._holder.renewed > EXPIRES / 10:
            self.release()
            self._holder = _me()
            if not self._files.create(self._path, packed(self._holder)):
                raise LakeBusy(
                    f"another process took over the lake in {self._files}, because this process "
                    f"did not renew its lock for {EXPIRES:.0f} s; run it again"
                )

    def release(self) -> None:
        """Delete the lock file, unless another process has taken the lock over."""
        if _read_holder(self._files, self._path) == self._holder:
            self._files.delete(self._path)


@contextmanager
def _remote_lock(files: Files, what: str) -> Iterator[LakeLock]:
    path = f"{FOLDER}/{what}.json"
    me = _me()
    while not files.create(path, packed(me)):
        other = _read_holder(files, path)
        if other is not None and time.time() - other.renewed < EXPIRES:
            raise _busy(files, what, f"process {other.pid} on {other.host}")
        files.delete(path)
    lock = _RemoteLock(files, path, me)
    try:
        yield lock
    finally:
        lock.release()


def _read_holder(files: Files, path: str) -> LockHolder | None:
    with suppress(FileNotFoundError, LakeUnreadable):
        return unpacked(LockHolder, path, files.read(path))
    return None
