"""A part of a dialect: it goes through the same client."""

from __future__ import annotations

from typing import Protocol, TypeVar

from headrace.compat.qless.dialect import Dialect
from headrace.operations.core import Core
from headrace.transport.drive import Operation, drive, drive_async

T = TypeVar("T")


class Whole(Protocol):
    """A Qless."""

    @property
    def core(self) -> Core: ...

    @property
    def dialect(self) -> Dialect: ...


class AsyncWhole(Whole, Protocol):
    """An AsyncQless."""

    async def open(self) -> None: ...


class Part:
    """What hangs on a Qless."""

    # What is found by name has no end to go through: without this, `in` would count for ever.
    __iter__ = None

    def __init__(self, whole: Whole) -> None:
        self._whole = whole
        self.dialect = whole.dialect

    @property
    def core(self) -> Core:
        return self._whole.core

    def _driven(self, operation: Operation[T]) -> T:
        return drive(self.core.transport, operation)


class AsyncPart:
    """What hangs on an AsyncQless, which may have to be opened first."""

    __iter__ = None

    def __init__(self, whole: AsyncWhole) -> None:
        self._whole = whole
        self.dialect = whole.dialect

    @property
    def core(self) -> Core:
        return self._whole.core

    async def open(self) -> None:
        """Connects, if that has not happened yet."""
        await self._whole.open()

    async def _driven(self, operation: Operation[T]) -> T:
        await self.open()
        return await drive_async(self.core.transport, operation)
