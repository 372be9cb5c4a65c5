"""The session of a worker: while it is renewed, what the worker holds stays with it."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from headrace.operations import sessions
from headrace.operations.core import Core
from headrace.operations.method import awaiting, blocking, named


class SessionFacts:
    """What a session knows without asking the server."""

    def __init__(self, core: Core, worker: str, token: str) -> None:
        self.core = core
        self.worker = worker
        self.token = token

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.worker!r}>"


@named
class Session(SessionFacts):
    """The session of a worker, for code that blocks."""

    end = blocking(sessions.end)
    renew = blocking(sessions.renew)
    serve = blocking(sessions.serve)
    unserve = blocking(sessions.unserve)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.end()


@named
class AsyncSession(SessionFacts):
    """The session of a worker, for code that awaits."""

    end = awaiting(sessions.end)
    renew = awaiting(sessions.renew)
    serve = awaiting(sessions.serve)
    unserve = awaiting(sessions.unserve)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.end()
