"""A worker process as its supervisor sees it, and the pipes between the two."""

from __future__ import annotations

import math
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from headrace.client.session import Session
from headrace.worker.poison import StartedJobs

# Messages of the supervisor: the session has started; stop. A second STOP means stop at once.
START, STOP = b"!", b"."

# Seconds at shutdown for the server to accept releases, and for cancelled tasks to end.
RELEASE_SECONDS, CANCEL_SECONDS = 5.0, 1.0
# A process may take this much longer than its drain time before it is killed.
OVERTIME_SECONDS = RELEASE_SECONDS + CANCEL_SECONDS + 1.0


class Hello(msgspec.Struct):
    """The first message of a process to its supervisor: where its jobs are."""

    url: str
    namespace: str
    queues: list[str]


@dataclass(slots=True)
class PipeEnds:
    """The ends of the two pipes that one side holds."""

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
        self.session: Session | None = None
        self.started_at = time.monotonic()
        self.stops_sent = 0
        self.kill_at = math.inf
        self.killed = False
        self._unread = b""

    def read(self) -> bool:
        """Read what the process has written; return True when its Hello is complete."""
        self._unread += os.read(self.pipes.read_end, 65536)
        if self.hello is None and b"\n" in self._unread:
            self.hello = msgspec.json.decode(self._unread, type=Hello)
            return True
        return False

    def send(self, message: bytes) -> None:
        """Send START or STOP to the process."""
        with suppress(BrokenPipeError):
            os.write(self.pipes.write_end, message)

    def send_stop(self, drain: float) -> None:
        """Tell the process to stop; the second time, at once.

        A signal would not do: a signal to the whole process group would then count twice.
        """
        self.stops_sent += 1
        drain_left = drain if self.stops_sent == 1 else 0
        self.kill_at = time.monotonic() + OVERTIME_SECONDS + drain_left
        self.send(STOP)
        if self.hello is None:
            # It does not read its pipe yet.
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped (SIGSTOP) and so does nothing for its jobs."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] in ("T", "t")
