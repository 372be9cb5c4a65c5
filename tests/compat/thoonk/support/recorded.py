"""A recorder of the calls of handlers."""

from __future__ import annotations

from collections.abc import Callable
from queue import Queue
from typing import Any

from headrace.compat.thoonk import Thoonk

NAMES = ("create", "config", "delete", "publish", "edit", "retract", "position", "missed")


class RecordedNotices:
    """The arguments with which a thread called the handlers, in order."""

    def __init__(self) -> None:
        self._received: Queue[tuple[Any, ...]] = Queue()

    def handler(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self._received.put((name, *arguments))

    def next(self, count: int) -> list[tuple[Any, ...]]:
        return [self._received.get(timeout=20) for _ in range(count)]


def all_of(thoonk: Thoonk) -> RecordedNotices:
    """Record notices of every name."""
    notices = RecordedNotices()
    for name in NAMES:
        thoonk.register_handler(name, notices.handler(name))
    return notices
