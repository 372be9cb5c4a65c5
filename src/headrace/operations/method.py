"""A talk becomes a method: blocking or awaiting, with the signature it was written with."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from headrace.operations.core import Core
from headrace.transport.drive import Operation, drive, drive_async

P = ParamSpec("P")
T = TypeVar("T")


class Face(Protocol):
    """What has talks: it knows the core they go through."""

    @property
    def core(self) -> Core: ...


F = TypeVar("F", bound=Face)


def blocking(
    operation: Callable[Concatenate[F, P], Operation[T]],
) -> Callable[Concatenate[F, P], T]:
    """The talk as a method that returns when it is over."""

    @wraps(operation)
    def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return drive(self.core.transport, operation(self, *args, **kwargs))

    _show(method, operation)
    return method


def awaiting(
    operation: Callable[Concatenate[F, P], Operation[T]],
) -> Callable[Concatenate[F, P], Awaitable[T]]:
    """The talk as a method to be awaited."""

    @wraps(operation)
    async def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await drive_async(self.core.transport, operation(self, *args, **kwargs))

    _show(method, operation)
    return method


def named(kind: type[T]) -> type[T]:
    """Calls the methods of a class in help() what they are called in the class."""
    for name, method in vars(kind).items():
        if inspect.isfunction(method):
            method.__name__, method.__qualname__ = name, f"{kind.__qualname__}.{name}"
    return kind


def _show(method: Any, operation: Callable[..., Any]) -> None:
    """Makes help() show a method of an object, and nothing of the generator behind it."""
    written = inspect.signature(operation)
    face, *others = written.parameters.values()
    returned = str(written.return_annotation).removeprefix("Operation[").removesuffix("]")
    method.__signature__ = written.replace(
        parameters=[face.replace(name="self", annotation=face.empty), *others],
        return_annotation=returned,
    )
