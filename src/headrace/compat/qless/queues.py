"""A queue of either colour, and the queues of a namespace."""

from __future__ import annotations

from typing import overload

from headrace.compat.opening import awaiting
from headrace.compat.qless.jobs import AsyncJob, Job
from headrace.compat.qless.part import AsyncPart, AsyncWhole, Part, Whole
from headrace.compat.qless.talks import recurring, serving, watching
from headrace.operations import queues as queue_talks
from headrace.operations.method import blocking, named


@named
class Queue(Part):
    """A queue, for code that blocks."""

    counts = blocking(watching.counts)
    delete = blocking(queue_talks.delete)
    jobs = blocking(watching.jobs)
    length = blocking(queue_talks.length)
    pause = blocking(queue_talks.pause)
    put = blocking(serving.put)
    recur = blocking(recurring.recur)
    stats = blocking(watching.stats)
    unpause = blocking(queue_talks.resume)

    def __init__(self, whole: Whole, name: str) -> None:
        super().__init__(whole)
        self._name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r}>"

    @property
    def name(self) -> str:
        """Its name."""
        return queue_talks.check_name(self.core, self._name)

    def __len__(self) -> int:
        return self.length()

    @overload
    def pop(self, count: None = None, *, worker: str | None = None) -> Job | None: ...

    @overload
    def pop(self, count: int, *, worker: str | None = None) -> list[Job]: ...

    def pop(self, count: int | None = None, *, worker: str | None = None) -> Job | list[Job] | None:
        """The next job, locked for a worker (the client's own by default), or None.

        With a count, a list of up to so many.
        """
        found = self._driven(serving.pop(self, Job, count, worker))
        return found if count is not None else next(iter(found), None)

    @overload
    def peek(self, count: None = None) -> Job | None: ...

    @overload
    def peek(self, count: int) -> list[Job]: ...

    def peek(self, count: int | None = None) -> Job | list[Job] | None:
        """The next job as pop would give it out, or None; with a count, a list of up to so many."""
        found = self._driven(serving.peek(self, Job, count))
        return found if count is not None else next(iter(found), None)


@named
class AsyncQueue(AsyncPart):
    """A queue, for code that awaits."""

    counts = awaiting(watching.counts)
    delete = awaiting(queue_talks.delete)
    jobs = awaiting(watching.jobs)
    length = awaiting(queue_talks.length)
    pause = awaiting(queue_talks.pause)
    put = awaiting(serving.put)
    recur = awaiting(recurring.recur)
    stats = awaiting(watching.stats)
    unpause = awaiting(queue_talks.resume)

    def __init__(self, whole: AsyncWhole, name: str) -> None:
        super().__init__(whole)
        self._name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r}>"

    @property
    def name(self) -> str:
        """Its name."""
        return queue_talks.check_name(self.core, self._name)

    @overload
    async def pop(self, count: None = None, *, worker: str | None = None) -> AsyncJob | None: ...

    @overload
    async def pop(self, count: int, *, worker: str | None = None) -> list[AsyncJob]: ...

    async def pop(
        self, count: int | None = None, *, worker: str | None = None
    ) -> AsyncJob | list[AsyncJob] | None:
        """The next job, locked for a worker (the client's own by default), or None.

        With a count, a list of up to so many.
        """
        found = await self._driven(serving.pop(self, AsyncJob, count, worker))
        return found if count is not None else next(iter(found), None)

    @overload
    async def peek(self, count: None = None) -> AsyncJob | None: ...

    @overload
    async def peek(self, count: int) -> list[AsyncJob]: ...

    async def peek(self, count: int | None = None) -> AsyncJob | list[AsyncJob] | None:
        """The next job as pop would give it out, or None; with a count, a list of up to so many."""
        found = await self._driven(serving.peek(self, AsyncJob, count))
        return found if count is not None else next(iter(found), None)


@named
class Queues(Part):
    """The queues, for code that blocks: queues["mail"]."""

    counts = blocking(watching.all_counts)

    def __getitem__(self, name: str) -> Queue:
        return Queue(self._whole, name)


@named
class AsyncQueues(AsyncPart):
    """The queues, for code that awaits: queues["mail"]."""

    counts = awaiting(watching.all_counts)

    def __getitem__(self, name: str) -> AsyncQueue:
        return AsyncQueue(self._whole, name)
