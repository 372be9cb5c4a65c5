"""What both colours of the dialect know without asking the server."""

from __future__ import annotations

import os
import socket
from typing import NamedTuple, Protocol

from headrace.client.lease import LeaseBase
from headrace.engine.check import number, text
from headrace.operations.core import Core
from headrace.operations.finishing import LeaseLike

# No lease has this token.
NOBODYS = "-"
MOST_HELD = 100_000


class NotHeld(NamedTuple):
    """A job that this client does not hold: the server says in which state it is, and refuses."""

    core: Core
    id: str
    token: str = NOBODYS
    queue: str = ""


class Dialect:
    """The options of the dialect, and the leases of what was popped through it.

    The document knows a holder by the worker's name alone. Here each delivery has a token, and what
    is said by id is said with the token of the last delivery to this client.
    """

    def __init__(self, worker: str | None, *, higher_first: bool, raises: bool) -> None:
        self.worker_name = f"{socket.gethostname()}-{os.getpid()}" if worker is None else worker
        text("worker", self.worker_name, 250)
        self.higher_first = higher_first
        self.raises = raises
        self._held: dict[str, LeaseBase] = {}

    def hold(self, lease: LeaseBase) -> None:
        """Keeps the lease, and drops the oldest where there are very many."""
        self._held.pop(lease.id, None)
        self._held[lease.id] = lease
        while len(self._held) > MOST_HELD:
            self._held.pop(next(iter(self._held)), None)

    def lease_of(self, job_id: str) -> LeaseBase | None:
        """The lease of the last delivery of a job to this client, if it has not ended it."""
        return self._held.get(job_id)

    def let_go(self, lease: LeaseLike) -> None:
        """The job was ended by its holder."""
        if self._held.get(lease.id) is lease:
            del self._held[lease.id]

    def turned(self, priority: float | None) -> float | None:
        """A priority as the other side counts it: here the lower one runs sooner."""
        if priority is None or not self.higher_first:
            return priority
        return -number("priority", priority) or 0


class Face(Protocol):
    """A part of a dialect that has talks."""

    @property
    def core(self) -> Core: ...

    @property
    def dialect(self) -> Dialect: ...


class QueueFace(Face, Protocol):
    """A queue of the dialect."""

    @property
    def name(self) -> str: ...
