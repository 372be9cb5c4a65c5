"""Context managers for objects that have a `close` method.

Internal: the API may change without notice.
"""

from __future__ import annotations

from typing import Self


class ClosesOnExit:
    """An object that `with` closes."""

    __slots__ = ()

    def close(self) -> None:
        """Release the resources of the object."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class ClosesOnAsyncExit:
    """An object that `async with` closes."""

    __slots__ = ()

    async def close(self) -> None:
        """Release the resources of the object."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()
