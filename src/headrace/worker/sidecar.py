"""A session that a sidecar process keeps alive for as long as its owner lives.

The sidecar runs no user code, so nothing that the owner does can keep it from renewing the session,
not even holding the interpreter lock. It renews nothing for an owner that is dead or stopped: when
its stdin is closed, it releases the jobs that the owner had not started and ends the session as
that of a dead worker.

The first line of its stdin is a SidecarOrder. Each further line lists the started jobs; an empty
line says that the owner is done. On stdout it writes one word a line: STARTED or WATCHED_ENDED.
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

from headrace.client import connect as connecting
from headrace.client.client import Client
from headrace.client.session import Session
from headrace.engine import keys
from headrace.errors import HeadraceError, SessionEnded
from headrace.operations.requests import raw
from headrace.transport.drive import drive
from headrace.worker.leases import end_dead_worker
from headrace.worker.supervised_process import is_stopped

STARTED, WATCHED_ENDED = b"started\n", b"ended\n"

RENEWALS = 3
CONNECT_SECONDS = 1.0
RETRY_FOR = 0.5
RETRY_PAUSE = 0.2
# After an outage, the owner of a watched session has this long to start it again.
GRACE_SECONDS = 5.0


class SidecarFailed(HeadraceError):
    """The sidecar process could not start the session."""


class SidecarOrder(msgspec.Struct):
    """The session that a sidecar keeps, and optionally another session that it watches."""

    url: str
    namespace: str
    worker: str
    owner: int
    ttl: float
    queues: list[str] = []
    watched: str = ""


class SidecarSession:
    """A session of this process that a sidecar process keeps alive.

    The constructor returns when the session has started; it raises SidecarFailed if that fails.
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
        # In its own process group, signals to this process do not end the sidecar first.
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
                "the session started; see its messages on stderr"
            )
        os.set_blocking(self._stdout.fileno(), False)

    def is_kept(self) -> bool:
        """Return whether the sidecar still runs."""
        return self._process.poll() is None

    def watched_is_over(self) -> bool:
        """Return whether the watched session has ended."""
        if not self._watched_ended:
            self._watched_ended = WATCHED_ENDED in (self._stdout.read(4096) or b"")
        return self._watched_ended

    def set_started(self, ids: list[str] | None) -> None:
        """Report which of the held jobs have started; None means all of them."""
        self._write(msgspec.json.encode(ids))

    def end(self) -> None:
        """End the session and the sidecar."""
        self._write(b"")
        self._process.wait()
        self._stdin.close()
        self._stdout.close()

    def _write(self, line: bytes) -> None:
        # If the sidecar is dead, the session expires; is_kept() returns False then.
        with suppress(BrokenPipeError):
            self._stdin.write(line + b"\n")


# the program


class Sidecar:
    """The loop of the sidecar process."""

    def __init__(self, order: SidecarOrder) -> None:
        self._order = order
        self._client: Client | None = None
        self._session: Session | None = None
        # None: all jobs that the owner holds.
        self._started_jobs: set[str] | None = None
        self._unread = b""
        self._trust_watch_at = 0.0
        self._reported_end = False

    def run(self) -> None:
        """Keep the session until the owner is done or dead."""
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
        """Read what the owner has written; return True if the owner is done or dead."""
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
        """Renew the session or start a new one; return False if it must be retried soon."""
        try:
            if self._session is None:
                self._start()
            elif not is_stopped(self._order.owner):
                self._session.renew()
            self._check_watched()
        except SessionEnded:
            self._session = None
            self._distrust_watch()
            return False
        except HeadraceError:
            self._distrust_watch()
            return False
        return True

    def _start(self) -> None:
        order = self._order
        if self._client is None:
            options = connecting.ConnectOptions(
                order.url,
                order.namespace,
                codec="raw",
                retry_for=RETRY_FOR,
                timeout=CONNECT_SECONDS,
            )
            self._client = connecting.connect(options)
        session = self._client.session(order.worker, ttl=order.ttl)
        for queue in order.queues:
            session.serve(queue)
        self._session = session
        _write_stdout(STARTED)

    def _check_watched(self) -> None:
        if not self._order.watched or self._client is None or self._reported_end:
            return
        core = self._client.core
        key = core.key(0, keys.session(self._order.watched))
        [exists] = drive(core.transport, raw(core, [(0, ("EXISTS", key))]))
        if not exists and time.monotonic() >= self._trust_watch_at:
            self._reported_end = True
            _write_stdout(WATCHED_ENDED)

    def _distrust_watch(self) -> None:
        self._trust_watch_at = time.monotonic() + GRACE_SECONDS

    def _end(self) -> None:
        if self._session is not None:
            with suppress(HeadraceError):
                self._session.end()

    def _end_as_dead(self) -> None:
        if self._client is not None and self._session is not None:
            with suppress(HeadraceError):
                end_dead_worker(self._client, self._order.worker, self._started_jobs)


def _write_stdout(word: bytes) -> None:
    # If the owner died meanwhile, the end of stdin shows it.
    with suppress(BrokenPipeError):
        os.write(1, word)


def main() -> None:
    """Keep the session that the first line of stdin describes."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return
        line += byte
    Sidecar(msgspec.json.decode(line, type=SidecarOrder)).run()


if __name__ == "__main__":
    main()
