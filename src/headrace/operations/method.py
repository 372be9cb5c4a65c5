"""Declare an operation once, and get a sync method and an async method.

    class QueueMethods:
        put = method(putting.put)

    class Queue(QueueMethods, SyncMethods): ...
    class AsyncQueue(QueueMethods, AsyncMethods): ...

`Queue().put(...)` returns when the operation is done, and `AsyncQueue().put(...)` must be awaited.
Both methods have the signature and the docstring of the operation.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import update_wrapper, wraps
from types import FunctionType, MethodType
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
    """Base class of sync classes, whose methods block until the operation is done."""

    __slots__ = ()
    core: Core

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _install(cls, _sync_function)


class AsyncMethods:
    """Base class of async classes, whose methods are coroutines.

    A subclass may override `_make_function`, for example to open a connection first.
    """

    __slots__ = ()
    core: Core

    @staticmethod
    def _make_function(operation: AnyOperation) -> Callable[..., Any]:
        """Return the coroutine function that carries out an operation."""
        return _async_function(operation)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _install(cls, cls._make_function)


Mode = TypeVar("Mode", SyncMethods, AsyncMethods)


class MethodGroup(Generic[Mode]):
    """Base class of method groups, such as `client.failures`, for sync and async clients."""

    def __init__(self, core: Core, *, is_async: bool) -> None:
        self.core = core
        self._is_async = is_async


class method(Generic[P, T]):  # noqa: N801 - used like a decorator
    """A descriptor that turns an operation into a method of the class.

    Type checkers read the type of the method from `__get__`. In subclasses of SyncMethods and
    AsyncMethods a plain function replaces the descriptor, so that a call does not run `__get__`.
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
        return MethodType(self._functions[owner._is_async], owner)  # noqa: SLF001 - a MethodGroup


def _install(cls: type, make: MakeFunction) -> None:
    for name in dir(cls):
        declared = inspect.getattr_static(cls, name)
        if isinstance(declared, method):
            setattr(cls, name, _named(make, declared.operation, cls, name))


def _named(make: MakeFunction, operation: AnyOperation, cls: type, name: str) -> Any:
    function: Any = make(_renamed(operation, name, f"{cls.__qualname__}.{name}"))
    function.__signature__ = _signature(operation)
    return function


def _renamed(operation: Any, name: str, qualname: str) -> AnyOperation:
    """Return a copy with another name; Python shows this name in the TypeError of a wrong call."""
    copy = FunctionType(
        operation.__code__,
        operation.__globals__,
        argdefs=operation.__defaults__,
        closure=operation.__closure__,
    )
    copy.__kwdefaults__ = operation.__kwdefaults__
    update_wrapper(copy, operation)
    copy.__name__, copy.__qualname__ = name, qualname
    return copy


def _signature(operation: AnyOperation) -> inspect.Signature:
    """Return the method's signature: `self` is first, and the type Operation[T] becomes T."""
    written = inspect.signature(operation)
    owner, *others = written.parameters.values()
    returned = str(written.return_annotation).removeprefix("Operation[").removesuffix("]")
    return written.replace(
        parameters=[owner.replace(name="self", annotation=owner.empty), *others],
        return_annotation=returned,
    )
