"""A sidecar process that keeps a session alive for as long as the session's owner process lives.

The sidecar runs no user code, so it can renew the session even while user code holds the owner's
interpreter lock. The sidecar does not renew the session of an owner that is dead or stopped. When
the owner dies, the stdin of the sidecar closes. The sidecar then calls `end_dead_worker`, which
releases the jobs that the owner had not started and ends the session.

The first line of the sidecar's stdin is a SidecarOrder. Each further line lists the started jobs.
An empty line means that the owner is done. The sidecar writes STARTED to stdout when it has started
the session, and WATCHED_ENDED when the watched session has ended.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from typing import IO, cast

import msgspec

from headrace.client.client import Client
from headrace.engine import keys
from headrace.errors import HeadraceError
from headrace.operations import sessions
from headrace.operations.requests import raw
from headrace.operations.sessions import KeptSession
from headrace.transport.drive import drive
from headrace.worker.leases import RENEWALS, end_dead_worker
from headrace.worker.session_keeper import SessionKeeper
from headrace.worker.supervised_process import connect_for_sessions, is_stopped

STARTED, WATCHED_ENDED = b"started\n", b"ended\n"

RETRY_PAUSE = 0.2
# After an outage, the owner of a watched session has this many seconds to start a new session.
GRACE_SECONDS = 5.0


class SidecarFailed(HeadraceError):
    """The sidecar process could not start the session."""


class SidecarOrder(msgspec.Struct):
    """The session that a sidecar keeps alive, and optionally a session that the sidecar watches."""

    url: str
    namespace: str
    worker: str
    owner: int
    ttl: float
    queues: list[str] = []
    watched: str = ""

    def __repr__(self) -> str:
        """Return a text without the URL, which may contain a password."""
        return f"<SidecarOrder {self.namespace!r} {self.worker!r}>"


class SidecarSession:
    """The session of this process, which a sidecar process keeps alive.

    The constructor waits until the session has started, or raises SidecarFailed.
    """

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
        order = SidecarOrder(url, namespace, worker, os.getpid(), ttl, list(queues), watched)
        self.worker = worker
        self._watched_ended = False
        # The sidecar gets its own process group, so that signals to the group of this process do
        # not reach the sidecar.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headrace.worker.sidecar"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            bufsize=0,
            start_new_session=True,
        )
        self._stdin = cast(IO[bytes], self._process.stdin)
        self._stdout = cast(IO[bytes], self._process.stdout)
        self._write(msgspec.json.encode(order))
        if not self._stdout.read(len(STARTED)):
            raise SidecarFailed(
                f"the sidecar of worker {worker!r} exited with code {self._process.wait()} before "
                "the session started; see the sidecar's messages on stderr"
            )
        os.set_blocking(self._stdout.fileno(), False)

    def is_kept(self) -> bool:
        """Return whether the sidecar is still running."""
        return self._process.poll() is None

    def watched_is_over(self) -> bool:
        """Return whether the watched session has ended."""
        if not self._watched_ended:
            self._watched_ended = WATCHED_ENDED in (self._stdout.read(4096) or b"")
        return self._watched_ended

    def set_started(self, ids: list[str] | None) -> None:
        """Report which of the held jobs have started; None means all held jobs."""
        self._write(msgspec.json.encode(ids))

    def end(self) -> None:
        """End the session and the sidecar."""
        self._write(b"")
        self._process.wait()
        self._stdin.close()
        self._stdout.close()

    def _write(self, line: bytes) -> None:
        # If the sidecar is dead, the session expires and is_kept() returns False.
        with suppress(BrokenPipeError):
            self._stdin.write(line + b"\n")


# the program


class Sidecar:
    """Runs in the sidecar process, and renews the session until the owner is done or dead."""

    def __init__(self, order: SidecarOrder) -> None:
        self._order = order
        self._client: Client | None = None
        self._keeper: SessionKeeper | None = None
        self._session: KeptSession | None = None
        # None means that all jobs of the owner count as started.
        self._started_jobs: set[str] | None = None
        self._unread = b""
        self._trust_watch_at = 0.0
        self._reported_end = False

    def run(self) -> None:
        """Keep the session alive until the owner is done or dead."""
        pause = 0.0
        while True:
            readable, _, _ = select.select([0], [], [], pause)
            if readable and self._read_stdin():
                return
            if os.getppid() != self._order.owner:
                self._end_as_dead()
                return
            if not readable:
                pause = self._order.ttl / RENEWALS if self._keep() else RETRY_PAUSE

    def _read_stdin(self) -> bool:
        """Read messages from the owner; return True if the owner is done or dead."""
        data = os.read(0, 1 << 16)
        if not data:
            self._end_as_dead()
            return True
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            if not line:
                self._end()
                return True
            self._started_jobs = msgspec.json.decode(line, type=set[str] | None)
        return False

    def _keep(self) -> bool:
        """Renew the session, or start it where it is not alive; return False on failure."""
        try:
            if not is_stopped(self._order.owner):
                self._renew()
            self._check_watched()
        except HeadraceError:
            self._trust_watch_at = time.monotonic() + GRACE_SECONDS
            return False
        return True

    def _renew(self) -> None:
        order = self._order
        if self._client is None or self._keeper is None or self._session is None:
            self._client = connect_for_sessions(order.url, order.namespace)
            self._keeper = SessionKeeper(self._client)
            self._session = KeptSession(self._client.core, order.worker, order.ttl, order.queues)
        was_started = bool(self._session.started)
        _, failure = self._keeper.keep([self._session])
        if self._session.started and not was_started:
            _write_stdout(STARTED)
        if failure is not None:
            raise failure

    def _check_watched(self) -> None:
        if not self._order.watched or self._client is None or self._reported_end:
            return
        core = self._client.core
        key = core.key(0, keys.session(self._order.watched))
        [exists] = drive(core.transport, raw(core, [(0, ("EXISTS", key))]))
        if not exists and time.monotonic() >= self._trust_watch_at:
            self._reported_end = True
            _write_stdout(WATCHED_ENDED)

    def _end(self) -> None:
        if self._session is not None:
            with suppress(HeadraceError):
                drive(self._session.core.transport, sessions.end(self._session))

    def _end_as_dead(self) -> None:
        if self._client is not None and self._session is not None:
            with suppress(HeadraceError):
                end_dead_worker(self._client, self._order.worker, self._started_jobs)


def _write_stdout(word: bytes) -> None:
    # A broken pipe means that the owner died. The main loop then finds the sidecar's stdin closed.
    with suppress(BrokenPipeError):
        os.write(1, word)


def main() -> None:
    """Keep alive the session that the first line of stdin describes."""
    # A buffered read would also consume the following lines, which Sidecar.run must read.
    with open(0, "rb", buffering=0, closefd=False) as stdin:
        line = stdin.readline()
    if line.endswith(b"\n"):
        Sidecar(msgspec.json.decode(line, type=SidecarOrder)).run()


if __name__ == "__main__":
    main()
