"""Base classes of the groups of a Qless client, such as `qless.jobs` and `qless.queues`."""

from __future__ import annotations

from typing import Protocol, TypeVar

from headrace.compat.opening import OpeningMethods
from headrace.compat.qless.context import QlessLike
from headrace.operations.core import Core
from headrace.operations.method import SyncMethods
from headrace.transport.drive import Operation, drive, drive_async

T = TypeVar("T")


class OpenableQless(QlessLike, Protocol):
    """An AsyncQless."""

    async def open(self) -> None:
        """Connect, unless that has happened already."""


class QlessGroup(SyncMethods):
    """A group of sync methods that share the connection of a Qless client."""

    # __getitem__ accepts any name, so iteration over the group would never end.
    __iter__ = None

    def __init__(self, qless: QlessLike) -> None:
        self._qless = qless
        self.context = qless.context

    @property
    def core(self) -> Core:  # type: ignore[override]
        """The namespace and its connection."""
        return self._qless.core

    def _drive(self, operation: Operation[T]) -> T:
        return drive(self.core.transport, operation)


class AsyncQlessGroup(OpeningMethods):
    """A group of async methods that share the connection of an AsyncQless client."""

    __iter__ = None

    def __init__(self, qless: OpenableQless) -> None:
        self._qless = qless
        self.context = qless.context

    @property
    def core(self) -> Core:  # type: ignore[override]
        """The namespace and its connection."""
        return self._qless.core

    async def open(self) -> None:
        """Connect, unless that has happened already."""
        await self._qless.open()

    async def _drive(self, operation: Operation[T]) -> T:
        await self.open()
        return await drive_async(self.core.transport, operation)
