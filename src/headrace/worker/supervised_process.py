"""The supervisor's view of a worker process, and the pipes between supervisor and process."""

from __future__ import annotations

import math
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from headrace.client import connect as connecting
from headrace.client.client import Client
from headrace.operations.core import Core
from headrace.operations.sessions import KeptSession
from headrace.worker.poison import StartedJobs

# Messages from the supervisor. START means that the session has started. STOP tells the process to
# finish the running jobs and exit. A second STOP tells the process to release the running jobs and
# exit.
START, STOP = b"!", b"."

# At shutdown, a process waits up to RELEASE_SECONDS until the server accepts its outcomes, up to
# ANSWER_SECONDS for the answer to a last pop, and up to CANCEL_SECONDS until its cancelled tasks
# end.
RELEASE_SECONDS, ANSWER_SECONDS, CANCEL_SECONDS = 5.0, 1.0, 1.0
# If a process takes this many seconds longer than its drain time, the supervisor kills the process.
OVERTIME_SECONDS = RELEASE_SECONDS + CANCEL_SECONDS + 1.0
CONNECT_SECONDS = 1.0
# A call is retried for at most this many seconds. A session is renewed each time a third of its
# lifetime has passed, and one broken connection must not delay a renewal for that long.
RETRY_FOR = 0.5


# The URL and the namespace of an app.
Place = tuple[str, str]


class Hello(msgspec.Struct):
    """A process's first message to the supervisor: the process's server, namespace and queues."""

    url: str
    namespace: str
    queues: list[str]

    @property
    def place(self) -> Place:
        """The server and the namespace."""
        return self.url, self.namespace

    def __repr__(self) -> str:
        """Return a text without the URL, which may contain a password."""
        return f"<Hello {self.namespace!r} {self.queues!r}>"


def connect_for_sessions(url: str, namespace: str) -> Client:
    """Return a client that gives up early, so that a bad connection delays no other session."""
    options = connecting.ConnectOptions(
        url or None, namespace, codec="raw", retry_for=RETRY_FOR, timeout=CONNECT_SECONDS
    )
    return connecting.connect(options)


@dataclass(slots=True)
class PipeEnds:
    """The pipe ends that the supervisor or the worker process holds."""

    read_end: int
    write_end: int

    def close(self) -> None:
        """Close both ends."""
        os.close(self.read_end)
        os.close(self.write_end)


class ChildProcess:
    """A forked worker process, with its session and its state."""

    def __init__(
        self, name: str, pid: int, pipes: PipeEnds, slot: int, started_jobs: StartedJobs
    ) -> None:
        self.name = name
        self.pid = pid
        self.pipes = pipes
        self.slot = slot
        self.started_jobs = started_jobs
        self.hello: Hello | None = None
        self.session: KeptSession | None = None
        self.is_working = False
        self.started_at = time.monotonic()
        self.stops_sent = 0
        self.kill_at = math.inf
        self.killed = False
        self._unread = b""

    def read(self) -> bool:
        """Read from the process's pipe; return True when the process's Hello is complete."""
        self._unread += os.read(self.pipes.read_end, 65536)
        if self.hello is None and b"\n" in self._unread:
            self.hello = msgspec.json.decode(self._unread, type=Hello)
            return True
        return False

    def keep_session(self, core: Core, ttl: float) -> KeptSession:
        """Return the session of the process; the session may not have started yet."""
        if self.session is None:
            queues = self.hello.queues if self.hello is not None else []
            self.session = KeptSession(core, self.name, ttl, queues)
        return self.session

    def send(self, message: bytes) -> None:
        """Send START or STOP to the process."""
        with suppress(BrokenPipeError):
            os.write(self.pipes.write_end, message)

    def send_stop(self, drain: float) -> None:
        """Tell the process to stop; the second call tells the process to stop at once.

        The message is sent through the pipe. If the supervisor forwarded signals instead, a signal
        to the whole process group would reach the process twice.
        """
        self.stops_sent += 1
        drain_left = drain if self.stops_sent == 1 else 0
        self.kill_at = time.monotonic() + OVERTIME_SECONDS + drain_left
        self.send(STOP)
        if self.hello is None:
            # A process that has not sent its Hello does not read its pipe yet, so the supervisor
            # sends a signal.
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped (SIGSTOP). Jobs of a stopped process do not progress."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] in ("T", "t")
