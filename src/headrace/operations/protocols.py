"""What an operation needs from the object whose method it is, sync or async."""

from __future__ import annotations

from typing import Protocol

from headrace.operations.core import Core


class ClientLike(Protocol):
    """A client."""

    @property
    def core(self) -> Core: ...


class QueueLike(Protocol):
    """A queue of a client."""

    @property
    def core(self) -> Core: ...

    @property
    def name(self) -> str: ...


class FeedLike(Protocol):
    """A feed of a client."""

    @property
    def core(self) -> Core: ...

    @property
    def name(self) -> str: ...

    @property
    def sorted(self) -> bool: ...


class SessionLike(Protocol):
    """The session of a worker."""

    @property
    def core(self) -> Core: ...

    @property
    def worker(self) -> str: ...

    @property
    def token(self) -> str: ...
