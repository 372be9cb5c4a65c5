"""The options and leases of a Qless client, which all objects of the client share."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeVar

from headrace.client.lease import LeaseBase
from headrace.compat.common import OpeningMethods
from headrace.engine.check import number, text
from headrace.errors import HeadraceError, JobNotFound, LeaseLost, ScheduleNotFound, WrongState
from headrace.operations.core import Core
from headrace.operations.method import SyncMethods
from headrace.operations.protocols import LeaseLike
from headrace.operations.sessions import default_worker_name
from headrace.transport.drive import Operation

T = TypeVar("T")

# No lease has this token, so the server refuses every call with this token.
UNKNOWN_HOLDER = "-"
MAX_LEASES = 100_000

Refused = Literal[False]


class QlessException(HeadraceError):
    """The server refused an operation and changed nothing; __cause__ is the Headrace error.

    Qless(raises=True) raises this exception instead of returning False.
    """


class LostLockException(QlessException):
    """The worker does not hold the job, or no longer holds it, and must stop working on the job."""


class NotLeased(NamedTuple):
    """Stands in for the lease of a job that this client does not hold; the server refuses it."""

    core: Core
    id: str
    token: str = UNKNOWN_HOLDER
    queue: str = ""


class QlessContext:
    """The options of a Qless client and the leases of the jobs that the client popped.

    qless identifies the holder of a job by the worker name alone. In Headrace, each delivery of a
    job has its own token. So a call that names only the job id uses the token of the last delivery
    of the job to this client.
    """

    def __init__(self, worker: str | None, *, higher_first: bool, raises: bool) -> None:
        self.worker_name = default_worker_name() if worker is None else worker
        text("worker", self.worker_name, 250)
        self.higher_first = higher_first
        self.raises = raises
        # By job id: the lease of the job's last delivery to this client. A lease is removed when
        # its holder finishes the job.
        self.leases: dict[str, LeaseBase] = {}

    def add_lease(self, lease: LeaseBase) -> None:
        """Store a lease; remove the oldest leases if more than 100,000 leases are stored."""
        self.leases.pop(lease.id, None)
        self.leases[lease.id] = lease
        while len(self.leases) > MAX_LEASES:
            self.leases.pop(next(iter(self.leases)), None)

    def drop_lease(self, lease: LeaseLike) -> None:
        """Remove the stored lease of a job after its holder has finished the job."""
        if self.leases.get(lease.id) is lease:
            del self.leases[lease.id]

    def flip_priority(self, priority: float | None) -> float | None:
        """Convert a priority between qless and Headrace; Headrace runs lower priorities first."""
        if priority is None or not self.higher_first:
            return priority
        return -number("priority", priority) or 0

    def unless_refused(self, operation: Operation[T]) -> Operation[T | Refused]:
        """Run an operation; return its result, or False if the server refuses the operation.

        With `raises`, raise LostLockException for a lost lease and QlessException otherwise.
        """
        try:
            return (yield from operation)
        except LeaseLost as error:
            if self.raises:
                raise LostLockException(str(error)) from error
        except (JobNotFound, ScheduleNotFound, WrongState) as error:
            if self.raises:
                raise QlessException(str(error)) from error
        return False


class QlessLike:
    """A Qless client, or an object that belongs to a Qless client, such as a queue or a job."""

    core: Core
    context: QlessContext


class QlessGroup(SyncMethods):
    """A group of sync methods that share the connection of a Qless client."""

    # __getitem__ accepts any name, so iteration over the group would never end.
    __iter__ = None

    def __init__(self, qless: QlessLike) -> None:
        self._qless = qless
        self.context = qless.context
        self.core = qless.core


class AsyncQlessGroup(OpeningMethods):
    """A group of async methods that share the connection of an AsyncQless client."""

    __iter__ = None

    def __init__(self, qless: Any) -> None:
        self._qless = qless
        self.context = qless.context

    @property
    def core(self) -> Core:  # type: ignore[override]
        """The namespace and its connection."""
        core: Core = self._qless.core
        return core

    async def open(self) -> None:
        """Connect unless the connection is already open."""
        await self._qless.open()
