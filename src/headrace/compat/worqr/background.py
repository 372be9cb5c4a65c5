"""What an instance runs beside the code that made it: threads, or tasks where that awaits."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial, wraps
from queue import SimpleQueue
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from headrace.compat.opening import awaiting
from headrace.compat.worqr.crew import Crew, Face
from headrace.compat.worqr.notices import attending
from headrace.compat.worqr.workers import failWorker, keeping
from headrace.errors import HeadraceError
from headrace.operations.method import blocking
from headrace.transport.drive import Operation, drive, drive_async

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Face)

log = logging.getLogger("headrace")


class ThreadBell:
    """Wakes a thread."""

    def __init__(self) -> None:
        self._rung = threading.Event()

    def ring(self) -> None:
        self._rung.set()

    def hear(self, seconds: float) -> None:
        self._rung.wait(seconds)


class TaskBell:
    """Wakes a task."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def hear(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._rung.wait(), seconds)


def _to_begin(face: Face) -> Iterator[tuple[str, Operation[None]]]:
    """What is to run in the background and does not yet, each with a name."""
    for member in list(face.crew.members.values()):
        if not member.begun:
            member.begun = True
            yield f"worker {member.worker}", keeping(face, member)
    for post in list(face.crew.posts.values()):
        if not post.begun:
            post.begun = True
            yield f"queue {post.queue}", attending(face, post)


def _to_fail(face: Face) -> Iterator[str]:
    """The workers of an instance that is closed; permanent ones stay, without it."""
    for member in list(face.crew.members.values()):
        if face.workerTimeout < 0:
            face.crew.dismiss(member)
        else:
            yield member.worker


class Threads(Crew):
    """The crew of code that blocks: a thread for each worker and queue, and one for handlers."""

    def __init__(self) -> None:
        super().__init__()
        self._tending = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._told: SimpleQueue[tuple[str, str, Any] | None] = SimpleQueue()
        self._teller: threading.Thread | None = None

    def new_bell(self) -> ThreadBell:
        return ThreadBell()

    def tell(self, queue: str, kind: str, message: Any) -> None:
        """Lets handlers know, one after the other, in a thread of their own."""
        if not self.handlers.get(queue):
            return
        with self._tending:
            if self._teller is None:
                self._teller = self._begin("handlers", self._tell_handlers)
        self._told.put((queue, kind, message))

    def _tell_handlers(self) -> None:
        while (told := self._told.get()) is not None:
            self.call_handlers(*told)

    def tend(self, face: Face) -> None:
        """Lets run what is to run, and ends what is not."""
        with self._tending:
            for post in self.left():
                post.state.subscription.end()
            for what, operation in _to_begin(face):
                self._begin(what, partial(self._run, face, operation))

    def _begin(self, what: str, function: Callable[[], None]) -> threading.Thread:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=function, name=f"headrace {what}", daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def _run(self, face: Face, operation: Operation[None]) -> None:
        try:
            drive(face.core.transport, operation)
        finally:
            self.tend(face)

    def end(self, face: Face) -> None:
        """Fails the workers, but for permanent ones, and ends what runs."""
        for worker in _to_fail(face):
            with suppress(HeadraceError):
                drive(face.core.transport, failWorker(face, worker))
        self.tend(face)
        _join([thread for thread in self._threads if thread is not self._teller], face)
        # Nobody is left who could tell something.
        teller, self._teller = self._teller, None
        if teller is not None:
            self._told.put(None)
            _join([teller], face)


def _join(threads: list[threading.Thread], face: Face) -> None:
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(face.core.timeout)


def tended(operation: Callable[Concatenate[F, P], Operation[T]]) -> Callable[Concatenate[F, P], T]:
    """The talk as a method after which something may have to run in a thread, or no longer."""
    plain = blocking(operation)

    @wraps(plain)
    def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return plain(self, *args, **kwargs)
        finally:
            cast("Threads", self.crew).tend(self)

    return method


class Tasks(Crew):
    """The crew of code that awaits: a task for each worker, queue and call of a handler."""

    def __init__(self) -> None:
        super().__init__()
        self._running: set[asyncio.Task[None]] = set()

    def new_bell(self) -> TaskBell:
        return TaskBell()

    def tell(self, queue: str, kind: str, message: Any) -> None:
        """Calls the handlers; what they return is awaited in a task of its own."""
        for outcome in self.call_handlers(queue, kind, message):
            if inspect.isawaitable(outcome):
                self._begin(f"handler of {queue}", _awaited(queue, outcome))

    async def tend(self, face: Face) -> None:
        """Lets run what is to run, and ends what is not."""
        for post in self.left():
            await post.state.subscription.end()
        for what, operation in _to_begin(face):
            self._begin(what, self._run(face, operation))

    def _begin(self, what: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"headrace {what}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, face: Face, operation: Operation[None]) -> None:
        try:
            await drive_async(face.core.transport, operation)
        finally:
            await self.tend(face)

    async def end(self, face: Face) -> None:
        """Fails the workers, but for permanent ones, and ends what runs."""
        for worker in _to_fail(face):
            with suppress(HeadraceError):
                await drive_async(face.core.transport, failWorker(face, worker))
        await self.tend(face)
        others = self._running - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


async def _awaited(queue: str, outcome: Awaitable[object]) -> None:
    try:
        await outcome
    except Exception:
        log.exception("a handler of queue %r failed", queue)


def tended_async(
    operation: Callable[Concatenate[F, P], Operation[T]],
) -> Callable[Concatenate[F, P], Awaitable[T]]:
    """The talk as a method after which something may have to run in a task, or no longer."""
    plain = awaiting(operation)

    @wraps(plain)
    async def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await plain(self, *args, **kwargs)
        finally:
            await cast("Tasks", self.crew).tend(self)

    return method
