"""A session that a process beside us keeps alive, whatever this one does."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import IO, cast

import msgspec

from headrace.errors import HeadraceError
from headrace.worker.sidecar import BEGUN, OVER, Order


class SidecarFailed(HeadraceError):
    """The process that keeps a session could not begin it."""


class KeptSession:
    """A session of this process, kept by a sidecar; returned by when it has begun."""

    def __init__(
        self,
        url: str,
        namespace: str,
        worker: str,
        *,
        ttl: float,
        queues: tuple[str, ...] = (),
        watched: str = "",
    ) -> None:
        order = Order(url, namespace, worker, os.getpid(), ttl, list(queues), watched)
        self.worker = worker
        self._over = False
        # A group of its own: signals that are meant for us must not end it before us.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headrace.worker.sidecar"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            bufsize=0,
            start_new_session=True,
        )
        self._says = cast(IO[bytes], self._process.stdin)
        self._hears = cast(IO[bytes], self._process.stdout)
        self._write(msgspec.json.encode(order))
        if not self._read(len(BEGUN)):
            raise SidecarFailed(
                f"the process that keeps the session of {worker!r} ended with code "
                f"{self._process.wait()}; its stderr, with that of this process, says why"
            )
        os.set_blocking(self._hears.fileno(), False)

    def is_kept(self) -> bool:
        """Whether the sidecar still runs."""
        return self._process.poll() is None

    def watched_is_over(self) -> bool:
        """Whether the session that is watched has ended."""
        if not self._over:
            self._over = OVER in (self._read(4096) or b"")
        return self._over

    def begun(self, ids: list[str] | None) -> None:
        """Says what of all that we hold was begun; None is everything."""
        self._write(msgspec.json.encode(ids))

    def end(self) -> None:
        """Ends the session, and what kept it."""
        self._write(b"")
        self._process.wait()
        self._says.close()
        self._hears.close()

    def _read(self, most: int) -> bytes | None:
        return self._hears.read(most)

    def _write(self, line: bytes) -> None:
        # If nobody hears it the session lapses, and who asks is_kept() sees why.
        with suppress(BrokenPipeError):
            self._says.write(line + b"\n")
