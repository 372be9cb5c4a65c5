"""Check the arguments of a task against the task's annotations, before each put and each run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any, get_type_hints

import msgspec

from headrace.app.context import Context
from headrace.errors import InvalidArgument

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Signature:
    """Checks and converts arguments and results according to the annotations of a function."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name = name
        self._function = function
        self._parameters = inspect.signature(function).parameters
        for parameter in self._parameters.values():
            if parameter.kind not in _NAMED:
                raise InvalidArgument(
                    f"task {name!r} takes {parameter}, but the arguments of a job need names; "
                    "declare each parameter by name"
                )
        # String annotations may name types that are defined later. Such annotations are checked at
        # the first use of the task.
        if not any(isinstance(p.annotation, str) for p in self._parameters.values()):
            self.check()

    def check(self) -> None:
        """Raise InvalidArgument if a parameter has a type that cannot be serialized."""
        self._struct  # noqa: B018 - a cached property

    @cached_property
    def _hints(self) -> dict[str, Any]:
        try:
            return get_type_hints(self._function, include_extras=True)
        except Exception as error:
            raise InvalidArgument(
                f"cannot read the annotations of task {self._name!r}: {error}"
            ) from error

    @cached_property
    def context_name(self) -> str | None:
        """The name of the parameter that receives the job's Context, or None."""
        return next((name for name in self._parameters if self._hints.get(name) is Context), None)

    @cached_property
    def _order(self) -> list[str]:
        return [name for name in self._parameters if name != self.context_name]

    @cached_property
    def _struct(self) -> Any:
        fields = [
            (name, hint)
            if self._parameters[name].default is inspect.Parameter.empty
            else (name, hint, msgspec.field(default=None))
            for name in self._order
            for hint in [self._hints.get(name, Any)]
        ]
        for name, hint, *_ in fields:
            self._check_serializable(name, hint)
        return msgspec.defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)

    def _check_serializable(self, name: str, hint: Any) -> None:
        try:
            msgspec.json.schema(hint)
        except (TypeError, RecursionError) as error:
            raise InvalidArgument(
                f"argument {name!r} of task {self._name!r} has a type that cannot be serialized: "
                f"{error}; use plain types, dataclasses or msgspec.Struct"
            ) from None

    def pack(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name, as plain values.

        Raises InvalidArgument if the arguments do not match the signature.
        """
        if args:
            order = self._order
            if len(args) > len(order):
                raise self._mismatch(f"the task takes {len(order)} arguments, not {len(args)}")
            named = dict(zip(order, args, strict=False))
            if twice := named.keys() & kwargs.keys():
                raise self._mismatch(f"{min(twice)!r} is passed twice")
            kwargs = named | kwargs
        try:
            msgspec.convert(kwargs, self._struct, from_attributes=True)
            plain: dict[str, Any] = msgspec.to_builtins(kwargs)
        except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
            raise self._mismatch(error) from None
        return plain

    def unpack(self, plain: Any) -> dict[str, Any]:
        """Return the arguments by name, converted to the annotated types.

        Raises InvalidArgument if the arguments do not match the signature.
        """
        try:
            values = msgspec.convert(plain, self._struct)
        except (msgspec.ValidationError, RecursionError) as error:
            raise self._mismatch(error) from None
        return {name: getattr(values, name) for name in plain}

    def read_result(self, value: Any) -> Any:
        """Return a result, converted to the annotated return type.

        Raises InvalidArgument if the result has another type.
        """
        hint = self._hints.get("return", Any)
        try:
            return msgspec.convert(value, hint)
        except (msgspec.ValidationError, TypeError) as error:
            raise InvalidArgument(
                f"the result of task {self._name!r} does not match the task's return annotation: "
                f"{error}"
            ) from None

    def _mismatch(self, why: object) -> InvalidArgument:
        parameters = [self._parameters[name] for name in self._order]
        # String annotations are shown without quotes.
        shown = [str(p).replace(repr(p.annotation), str(p.annotation), 1) for p in parameters]
        return InvalidArgument(f"{self._name}({', '.join(shown)}): {why}")
