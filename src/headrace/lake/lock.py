"""Locks that keep two processes from doing the same work on a lake at the same time.

On a file system with an atomic rename, a commit is safe without a lock, because the slower of two
writers gets LakeMoved. The lock then only avoids work that would be discarded. On an object store
without an atomic rename, such as s3a://, only the lock makes a commit safe.
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
from headrace.lake.files import Files, LocalFiles, make_folder
from headrace.lake.manifest import LakeRecord, LakeUnreadable, packed, unpacked

FOLDER = "locks"
EXPIRES = 600.0
"""The seconds after which a lock expires if it is not renewed. A local lock never expires."""


class LakeBusy(HeadraceError):
    """Another process holds the lock for the same kind of work on the lake."""


class LakeLock:
    """A lock that this process holds. The kernel releases the lock when the process ends."""

    def renew(self) -> None:
        """Renew the lock. Raises LakeBusy if another process has taken over the lock."""


def held(files: Files, what: str) -> AbstractContextManager[LakeLock]:
    """Hold the lock for a kind of work, such as "sync".

    Raises LakeBusy if another process holds the lock.
    """
    return (_local_lock if isinstance(files, LocalFiles) else _remote_lock)(files, what)


def _busy(files: Files, what: str, holder: str) -> LakeBusy:
    return LakeBusy(
        f"another {what} of the lake in {files} is running: {holder}; wait until it has ended"
    )


@contextmanager
def _local_lock(files: Files, what: str) -> Iterator[LakeLock]:
    path = Path(str(files)) / FOLDER / f"{what}.lock"
    make_folder(path.parent)
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
    """The process that holds a lock, and the time of the last renewal."""

    host: str
    pid: int
    renewed: float


def _me() -> LockHolder:
    return LockHolder(host=socket.gethostname(), pid=os.getpid(), renewed=time.time())


class _RemoteLock(LakeLock):
    """A lock file on a file system without flock.

    The lock expires unless the holder renews the lock.
    """

    def __init__(self, files: Files, path: str, holder: LockHolder) -> None:
        self._files = files
        self._path = path
        self._holder = holder

    def renew(self) -> None:
        """Write the lock file again if a tenth of the lock's lifetime has passed.

        Raises LakeBusy if another process has taken over the lock.
        """
        if time.time() - self._holder.renewed > EXPIRES / 10:
            self.release()
            self._holder = _me()
            if not self._files.create(self._path, packed(self._holder)):
                raise LakeBusy(
                    f"another process took over the lock of the lake in {self._files}, because "
                    f"this process did not renew the lock for {EXPIRES:.0f} s; run the command "
                    "again"
                )

    def release(self) -> None:
        """Delete the lock file, unless another process has taken over the lock."""
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
