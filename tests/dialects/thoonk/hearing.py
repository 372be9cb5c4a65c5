"""What handlers of every kind were called with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

NAMES = ("create", "config", "delete", "publish", "edit", "retract", "position", "missed")


class Notices:
    """What handlers were called with, in order, whatever thread they were called in."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._heard: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()

    def handler(self, name: str) -> Callable[..., None]:
        def handle(*arguments: Any) -> None:
            self._loop.call_soon_threadsafe(self._heard.put_nowait, (name, *arguments))

        return handle

    async def next(self, count: int) -> list[tuple[Any, ...]]:
        return [await asyncio.wait_for(self._heard.get(), 20) for _ in range(count)]


async def all_of(thoonk: Any) -> Notices:
    """Notices of every kind."""
    notices = Notices()
    for name in NAMES:
        thoonk.register_handler(name, notices.handler(name))
    return notices
