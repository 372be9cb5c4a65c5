"""Sessions of workers, sync and async. A worker keeps its jobs while it renews its session."""

from __future__ import annotations

from typing import Self

from headrace.operations import sessions
from headrace.operations.core import Core
from headrace.operations.method import AsyncMethods, SyncMethods, method


class SessionBase:
    """The methods that Session and AsyncSession share."""

    end = method(sessions.end)
    renew = method(sessions.renew)
    serve = method(sessions.serve)
    unserve = method(sessions.unserve)

    def __init__(self, core: Core, worker: str, token: str) -> None:
        self.core = core
        self.worker = worker
        self.token = token

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.worker!r}>"


class Session(SessionBase, SyncMethods):
    """The session of a worker. Renew the session before it lapses.

    Leaving the `with` block ends the session. When the session has lapsed or ended, the jobs of the
    worker return to their queues.

        with client.session("worker-1", ttl=10) as session:
            session.serve("mail")
            session.renew()
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()


class AsyncSession(SessionBase, AsyncMethods):
    """The asyncio form of Session."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.end()
