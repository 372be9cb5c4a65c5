"""Protocols of the objects whose methods are operations; sync and async classes fulfil them."""

from __future__ import annotations

from typing import Protocol

from headrace.operations.core import Core


class ClientLike(Protocol):
    """A client."""

    @property
    def core(self) -> Core:
        """The shared state of the client."""
        ...


class QueueLike(Protocol):
    """A queue of a client."""

    @property
    def core(self) -> Core:
        """The shared state of the client."""
        ...

    @property
    def name(self) -> str:
        """The name."""
        ...


class FeedLike(Protocol):
    """A feed of a client."""

    @property
    def core(self) -> Core:
        """The shared state of the client."""
        ...

    @property
    def name(self) -> str:
        """The name."""
        ...

    @property
    def sorted(self) -> bool:
        """Whether the feed is sorted."""
        ...


class SessionLike(Protocol):
    """The session of a worker."""

    @property
    def core(self) -> Core:
        """The shared state of the client."""
        ...

    @property
    def worker(self) -> str:
        """The name of the worker."""
        ...

    @property
    def token(self) -> str:
        """The secret that proves the ownership."""
        ...
