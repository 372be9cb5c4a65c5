"""A talk becomes a method: blocking or awaiting, with the signature it was written with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from headrace.client.core import Core
from headrace.client.talk import Talk, drive, drive_async

P = ParamSpec("P")
T = TypeVar("T")


class Face(Protocol):
    """What has talks: it knows the core they go through."""

    @property
    def core(self) -> Core: ...


F = TypeVar("F", bound=Face)


def blocking(talk: Callable[Concatenate[F, P], Talk[T]]) -> Callable[Concatenate[F, P], T]:
    """The talk as a method that returns when it is over."""

    @wraps(talk)
    def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return drive(self.core.wire, talk(self, *args, **kwargs))

    return _without_return(method)


def awaiting(
    talk: Callable[Concatenate[F, P], Talk[T]],
) -> Callable[Concatenate[F, P], Awaitable[T]]:
    """The talk as a method to be awaited."""

    @wraps(talk)
    async def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await drive_async(self.core.wire, talk(self, *args, **kwargs))

    return _without_return(method)


def _without_return(method: Any) -> Any:
    # What is wrapped returns a generator, which is nobody's business but the driver's.
    method.__annotations__ = {
        name: kind for name, kind in method.__annotations__.items() if name != "return"
    }
    return method
