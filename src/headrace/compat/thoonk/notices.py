"""Handlers: what is to be called when a feed or an item has changed, by whomever."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from headrace.compat.thoonk.errors import NotListening
from headrace.engine.check import choice
from headrace.errors import InvalidArgument, ServerUnavailable
from headrace.feeds.values import FeedEvent
from headrace.operations.core import Core
from headrace.operations.listening import AsyncListener, Listener

log = logging.getLogger("headrace.compat.thoonk")
FAILED = "a handler failed: feed %r, event %s"
AWAY = "the server is away; listening goes on when it is back"
# Before a server that was away is tried again, in seconds.
PAUSE = 1.0

# What a handler is called with, by the kind of event; the names are those of thoonk.
NOTICES: dict[str, tuple[str, Callable[[FeedEvent], tuple[Any, ...]]]] = {
    "made": ("create", lambda event: (event.feed,)),
    "configured": ("config", lambda event: (event.feed,)),
    "deleted": ("delete", lambda event: (event.feed,)),
    "published": ("publish", lambda event: (event.feed, event.item, event.id)),
    "edited": ("edit", lambda event: (event.feed, event.item, event.id)),
    "retracted": ("retract", lambda event: (event.feed, event.id)),
    "positioned": ("position", lambda event: (event.feed, event.id, _position(event))),
    "missed": ("missed", lambda event: (event.feed, event.missed)),
}
NAMES = tuple(name for name, _ in NOTICES.values())


def _position(event: FeedEvent) -> str:
    return f"{event.after}:" if event.place == "after" else "begin:"


class Handlers:
    """Who is to be called, by the name of the notice."""

    def __init__(self, *, listens: bool) -> None:
        self._listens = listens
        self._by_name: dict[str, list[tuple[Callable[..., Any], bool]]] = {}

    def add(self, name: str, handler: Callable[..., Any], *, own: bool) -> None:
        if not self._listens:
            raise NotListening
        choice("name", name, NAMES)
        if not callable(handler):
            raise InvalidArgument(f"a handler is a function, not {type(handler).__name__}")
        self._by_name.setdefault(name, []).append((handler, own))

    def calls(self, event: FeedEvent, instance: str) -> Iterator[Callable[[], Any]]:
        """What is to be called because of an event, where the instance is one's own."""
        name, arguments = NOTICES[event.kind]
        for handler, own in tuple(self._by_name.get(name, ())):
            if own or event.instance != instance:
                yield partial(_call, handler, arguments, event)


def _call(
    handler: Callable[..., Any], arguments: Callable[[FeedEvent], tuple[Any, ...]], event: FeedEvent
) -> Any:
    return handler(*arguments(event))


class ThoonkListener:
    """Calls handlers in a thread of its own, until it is closed."""

    def __init__(self, listening: Listener[FeedEvent], handlers: Handlers, core: Core) -> None:
        self._listening = listening
        self._core = core
        self._handlers = handlers
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace thoonk", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                for event in self._listening:
                    self._tell(event)
            except ServerUnavailable:
                log.warning(AWAY, exc_info=True)
                self._closed.wait(PAUSE)
            else:
                return

    def _tell(self, event: FeedEvent) -> None:
        for call in self._handlers.calls(event, self._core.instance):
            try:
                call()
            except (Exception, SystemExit):
                log.exception(FAILED, event.feed, event.kind)

    def close(self) -> None:
        """Ends it: no handler is called any more."""
        self._closed.set()
        self._listening.close()
        if self._thread is not threading.current_thread():
            self._thread.join(self._core.timeout)


class AsyncThoonkListener:
    """Calls handlers in a task of its own, and awaits them where that is needed."""

    def __init__(self, listening: AsyncListener[FeedEvent], handlers: Handlers, core: Core) -> None:
        self._listening = listening
        self._core = core
        self._handlers = handlers
        self._task = asyncio.create_task(self._run(), name="headrace thoonk")

    async def _run(self) -> None:
        while True:
            try:
                async for event in self._listening:
                    await self._tell(event)
            except ServerUnavailable:
                log.warning(AWAY, exc_info=True)
                await asyncio.sleep(PAUSE)
            else:
                return

    async def _tell(self, event: FeedEvent) -> None:
        for call in self._handlers.calls(event, self._core.instance):
            try:
                answer = call()
                if inspect.isawaitable(answer):
                    await answer
            except asyncio.CancelledError:
                if self._task.cancelling():
                    raise
                log.exception(FAILED, event.feed, event.kind)
            except Exception:
                log.exception(FAILED, event.feed, event.kind)

    async def close(self) -> None:
        """Ends it: no handler is called any more."""
        await self._listening.close()
        if self._task is not asyncio.current_task():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
