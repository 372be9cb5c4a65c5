"""The session of a worker: while it is renewed, what the worker holds stays with it."""

from __future__ import annotations

from types import TracebackType
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
    """The session of a worker, for code that blocks."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.end()


class AsyncSession(SessionBase, AsyncMethods):
    """The session of a worker, for code that awaits."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.end()
