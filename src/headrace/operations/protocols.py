"""Protocols for sync and async objects whose methods are operations."""

from __future__ import annotations

from typing import Protocol

from headrace.operations.core import Core


class ClientLike(Protocol):
    """A client, or an object that belongs to a client."""

    @property
    def core(self) -> Core:
        """The shared state of the client."""
        ...


class NamedLike(ClientLike, Protocol):
    """An object that belongs to a client and has a name."""

    @property
    def name(self) -> str:
        """The name."""
        ...


class QueueLike(NamedLike, Protocol):
    """A Queue or an AsyncQueue."""


class GroupLike(NamedLike, Protocol):
    """A Group or an AsyncGroup."""


class FeedLike(NamedLike, Protocol):
    """A Feed or an AsyncFeed."""

    @property
    def sorted(self) -> bool:
        """Whether the feed is sorted."""
        ...


class TokenLike(ClientLike, Protocol):
    """An object that belongs to a client and is protected by a secret token."""

    @property
    def token(self) -> str:
        """The secret that proves ownership of the object."""
        ...


class LeaseLike(TokenLike, Protocol):
    """A Lease or an AsyncLease."""

    @property
    def id(self) -> str:
        """The id of the job."""
        ...


class SessionLike(TokenLike, Protocol):
    """A Session or an AsyncSession."""

    @property
    def worker(self) -> str:
        """The name of the worker."""
        ...
