"""Declare an operation once and get a method for the sync and for the async class.

    class QueueMethods:
        put = method(putting.put)

    class Queue(QueueMethods, SyncMethods): ...
    class AsyncQueue(QueueMethods, AsyncMethods): ...

`Queue().put(...)` returns when the operation is done, `AsyncQueue().put(...)` is awaited. Both have
the signature and the docstring of the operation.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from headrace.operations.core import Core
from headrace.transport.drive import Operation, drive, drive_async

P = ParamSpec("P")
T = TypeVar("T")
AnyOperation = Callable[..., Operation[Any]]
MakeFunction = Callable[[AnyOperation], Callable[..., Any]]


def _sync_function(operation: AnyOperation) -> Callable[..., Any]:
    @wraps(operation)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return drive(self.core.transport, operation(self, *args, **kwargs))

    return call


def _async_function(operation: AnyOperation) -> Callable[..., Any]:
    @wraps(operation)
    async def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return await drive_async(self.core.transport, operation(self, *args, **kwargs))

    return call


class SyncMethods:
    """Base of sync classes: their methods block until the operation is done."""

    __slots__ = ()
    core: Core

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _install(cls, _sync_function)


class AsyncMethods:
    """Base of async classes: their methods are coroutines.

    A subclass may override `_make_function`, for example to open a connection first.
    """

    __slots__ = ()
    core: Core

    @staticmethod
    def _make_function(operation: AnyOperation) -> Callable[..., Any]:
        """Make the coroutine function of an operation."""
        return _async_function(operation)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _install(cls, cls._make_function)


Mode = TypeVar("Mode", SyncMethods, AsyncMethods)


class MethodGroup(Generic[Mode]):
    """Base of the groups of a client, such as `client.failures`: one class for both clients."""

    def __init__(self, core: Core, *, is_async: bool) -> None:
        self.core = core
        self.is_async = is_async


class method(Generic[P, T]):  # noqa: N801 - used like a decorator
    """An operation as a method of its class.

    Type checkers read `__get__`. In subclasses of SyncMethods and AsyncMethods a plain function
    replaces the descriptor, so that a call costs no descriptor lookup.
    """

    def __init__(self, operation: Callable[Concatenate[Any, P], Operation[T]]) -> None:
        self.operation = operation
        self._functions: dict[bool, Callable[..., Any]] = {}

    def __set_name__(self, owner: type, name: str) -> None:
        self._functions = {
            is_async: _named(make, self.operation, owner, name)
            for is_async, make in ((False, _sync_function), (True, _async_function))
        }

    @overload
    def __get__(
        self, owner: SyncMethods | MethodGroup[SyncMethods], kind: type | None = None
    ) -> Callable[P, T]: ...

    @overload
    def __get__(
        self, owner: AsyncMethods | MethodGroup[AsyncMethods], kind: type | None = None
    ) -> Callable[P, Awaitable[T]]: ...

    @overload
    def __get__(self, owner: None, kind: type) -> Callable[..., Any]: ...

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self._functions[False]
        return MethodType(self._functions[owner.is_async], owner)


def _install(cls: type, make: MakeFunction) -> None:
    for name in dir(cls):
        declared = inspect.getattr_static(cls, name)
        if isinstance(declared, method):
            setattr(cls, name, _named(make, declared.operation, cls, name))


def _named(make: MakeFunction, operation: AnyOperation, cls: type, name: str) -> Any:
    function: Any = make(operation)
    function.__name__, function.__qualname__ = name, f"{cls.__qualname__}.{name}"
    function.__signature__ = _signature(operation)
    return function


def _signature(operation: AnyOperation) -> inspect.Signature:
    """Return the signature of the method: `self` first, and the result instead of the generator."""
    written = inspect.signature(operation)
    owner, *others = written.parameters.values()
    returned = str(written.return_annotation).removeprefix("Operation[").removesuffix("]")
    return written.replace(
        parameters=[owner.replace(name="self", annotation=owner.empty), *others],
        return_annotation=returned,
    )
