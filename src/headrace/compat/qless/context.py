"""What every object of one Qless client shares: its options and the leases that it holds."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeVar

from headrace.client.lease import LeaseBase
from headrace.compat.opening import OpeningMethods, process_name
from headrace.engine.check import number, text
from headrace.errors import HeadraceError, JobNotFound, LeaseLost, ScheduleNotFound, WrongState
from headrace.operations.core import Core
from headrace.operations.finishing import LeaseLike
from headrace.operations.method import SyncMethods
from headrace.transport.drive import Operation

T = TypeVar("T")

# No lease has this token, so the server refuses it.
UNKNOWN_HOLDER = "-"
MAX_LEASES = 100_000

Refused = Literal[False]


class QlessException(HeadraceError):
    """The server refused an operation and changed nothing; __cause__ is the Headrace error.

    Qless(raises=True) raises it instead of returning False.
    """


class LostLockException(QlessException):
    """The worker does not hold the job, or no longer: stop working on it."""


class NotLeased(NamedTuple):
    """A job that this client does not hold; the server refuses a call with its token."""

    core: Core
    id: str
    token: str = UNKNOWN_HOLDER
    queue: str = ""


class QlessContext:
    """The options of a Qless client and the leases of the jobs that it popped.

    qless identifies the holder of a job by the worker name alone. Headrace gives each delivery a
    token, so a call by job id uses the token of the last delivery to this client.
    """

    def __init__(self, worker: str | None, *, higher_first: bool, raises: bool) -> None:
        self.worker_name = process_name() if worker is None else worker
        text("worker", self.worker_name, 250)
        self.higher_first = higher_first
        self.raises = raises
        self._leases: dict[str, LeaseBase] = {}

    def add_lease(self, lease: LeaseBase) -> None:
        """Remember a lease; forget the oldest ones above 100,000."""
        self._leases.pop(lease.id, None)
        self._leases[lease.id] = lease
        while len(self._leases) > MAX_LEASES:
            self._leases.pop(next(iter(self._leases)), None)

    def lease_of(self, job_id: str) -> LeaseBase | None:
        """Return the lease of the job's last delivery to this client, if it is not finished."""
        return self._leases.get(job_id)

    def drop_lease(self, lease: LeaseLike) -> None:
        """Forget the lease of a job that its holder has finished."""
        if self._leases.get(lease.id) is lease:
            del self._leases[lease.id]

    def flip_priority(self, priority: float | None) -> float | None:
        """Convert a priority between qless and Headrace, where the lower one runs first."""
        if priority is None or not self.higher_first:
            return priority
        return -number("priority", priority) or 0

    def unless_refused(self, operation: Operation[T]) -> Operation[T | Refused]:
        """Run an operation and return its result, or False if the server refuses it.

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
    """An object of a Qless client, such as the client itself, a queue or a job."""

    core: Core
    context: QlessContext


class QlessGroup(SyncMethods):
    """A group of sync methods that share the connection of a Qless client."""

    # __getitem__ accepts any name, so iteration over the group would never end.
    __iter__ = None

    def __init__(self, qless: QlessLike) -> None:
        self._qless = qless
        self.context = qless.context

    @property
    def core(self) -> Core:  # type: ignore[override]
        """The namespace and its connection."""
        return self._qless.core


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
        """Connect, unless that has happened already."""
        await self._qless.open()
