"""Handlers of a Thoonk: functions that a thread calls when a feed or an item changes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from headrace.engine.check import choice
from headrace.errors import InvalidArgument, ServerUnavailable
from headrace.feeds.values import FeedEvent
from headrace.operations.channel_listener import Listener
from headrace.operations.core import Core

log = logging.getLogger("headrace.compat.thoonk")
# Seconds before the thread listens again after the server was unavailable.
RETRY_AFTER = 1.0

# For each kind of event: the name of the event in thoonk, and the arguments for the handlers.
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


class ThoonkListener:
    """The handlers of a Thoonk, and the thread that calls the handlers when feeds change."""

    def __init__(self, listening: Listener[FeedEvent], core: Core) -> None:
        self._listening = listening
        self._core = core
        self._handlers: dict[str, list[tuple[Callable[..., Any], bool]]] = {}
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace thoonk", daemon=True)
        self._thread.start()

    def add(self, name: str, handler: Callable[..., Any], *, own: bool) -> None:
        """Add a handler; see Thoonk.register_handler."""
        choice("name", name, NAMES)
        if not callable(handler):
            raise InvalidArgument(f"handler must be callable, not {type(handler).__name__}")
        self._handlers.setdefault(name, []).append((handler, own))

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                for event in self._listening:
                    self._notify(event)
            except ServerUnavailable:
                log.warning("server unavailable; listening to feeds again soon", exc_info=True)
                self._closed.wait(RETRY_AFTER)
            else:
                return

    def _notify(self, event: FeedEvent) -> None:
        name, arguments = NOTICES[event.kind]
        for handler, own in tuple(self._handlers.get(name, ())):
            if own or event.instance != self._core.instance:
                try:
                    handler(*arguments(event))
                except (Exception, SystemExit):
                    log.exception("a handler failed: feed %r, event %s", event.feed, event.kind)

    def close(self) -> None:
        """Stop the thread, which then calls no more handlers."""
        self._closed.set()
        self._listening.close()
        if self._thread is not threading.current_thread():
            self._thread.join(self._core.timeout)
