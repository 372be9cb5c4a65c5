"""Queues of qless, and the group `qless.queues` that opens them."""

from __future__ import annotations

from typing import overload

from headrace.compat.qless.context import QlessLike
from headrace.compat.qless.groups import AsyncQlessGroup, OpenableQless, QlessGroup
from headrace.compat.qless.jobs import AsyncQlessJob, QlessJob
from headrace.compat.qless.operations import monitoring, put_pop, recurring
from headrace.operations import queues as queue_operations
from headrace.operations.core import Core
from headrace.operations.method import method


class QlessQueueBase:
    """The methods that QlessQueue and AsyncQlessQueue share."""

    core: Core
    _name: str

    counts = method(monitoring.counts)
    delete = method(queue_operations.delete)
    jobs = method(monitoring.jobs)
    length = method(queue_operations.length)
    pause = method(queue_operations.pause)
    put = method(put_pop.put)
    recur = method(recurring.recur)
    stats = method(monitoring.stats)
    unpause = method(queue_operations.resume)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r}>"

    @property
    def name(self) -> str:
        """The name of the queue. Raises InvalidArgument if it cannot be one."""
        return queue_operations.check_name(self.core, self._name)


class QlessQueue(QlessQueueBase, QlessGroup):
    """A queue of qless."""

    def __init__(self, qless: QlessLike, name: str) -> None:
        super().__init__(qless)
        self._name = name

    def __len__(self) -> int:
        return self.length()

    @overload
    def pop(self, count: None = None, *, worker: str | None = None) -> QlessJob | None: ...

    @overload
    def pop(self, count: int, *, worker: str | None = None) -> list[QlessJob]: ...

    def pop(
        self, count: int | None = None, *, worker: str | None = None
    ) -> QlessJob | list[QlessJob] | None:
        """Lock the next job for a worker and return it, or None if no job is waiting.

        The default worker is that of the client. With a count, return a list of up to count jobs.
        """
        found = self._drive(put_pop.pop(self, QlessJob, count, worker))
        return found if count is not None else next(iter(found), None)

    @overload
    def peek(self, count: None = None) -> QlessJob | None: ...

    @overload
    def peek(self, count: int) -> list[QlessJob]: ...

    def peek(self, count: int | None = None) -> QlessJob | list[QlessJob] | None:
        """Return the job that pop would return next, or None if no job is waiting.

        With a count, return a list of up to count jobs.
        """
        found = self._drive(put_pop.peek(self, QlessJob, count))
        return found if count is not None else next(iter(found), None)


class AsyncQlessQueue(QlessQueueBase, AsyncQlessGroup):
    """The asyncio form of QlessQueue."""

    def __init__(self, qless: OpenableQless, name: str) -> None:
        super().__init__(qless)
        self._name = name

    @overload
    async def pop(
        self, count: None = None, *, worker: str | None = None
    ) -> AsyncQlessJob | None: ...

    @overload
    async def pop(self, count: int, *, worker: str | None = None) -> list[AsyncQlessJob]: ...

    async def pop(
        self, count: int | None = None, *, worker: str | None = None
    ) -> AsyncQlessJob | list[AsyncQlessJob] | None:
        """Lock the next job for a worker and return it; see QlessQueue.pop."""
        found = await self._drive(put_pop.pop(self, AsyncQlessJob, count, worker))
        return found if count is not None else next(iter(found), None)

    @overload
    async def peek(self, count: None = None) -> AsyncQlessJob | None: ...

    @overload
    async def peek(self, count: int) -> list[AsyncQlessJob]: ...

    async def peek(self, count: int | None = None) -> AsyncQlessJob | list[AsyncQlessJob] | None:
        """Return the job that pop would return next; see QlessQueue.peek."""
        found = await self._drive(put_pop.peek(self, AsyncQlessJob, count))
        return found if count is not None else next(iter(found), None)


class QlessQueuesBase:
    """The methods that QlessQueues and AsyncQlessQueues share."""

    counts = method(monitoring.all_counts)


class QlessQueues(QlessQueuesBase, QlessGroup):
    """The queues: `queues["mail"]`."""

    def __getitem__(self, name: str) -> QlessQueue:
        return QlessQueue(self._qless, name)


class AsyncQlessQueues(QlessQueuesBase, AsyncQlessGroup):
    """The asyncio form of QlessQueues: `queues["mail"]`."""

    def __getitem__(self, name: str) -> AsyncQlessQueue:
        return AsyncQlessQueue(self._qless, name)
