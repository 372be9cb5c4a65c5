"""Derive the Arrow types of columns from Python type hints."""

from __future__ import annotations

from dataclasses import is_dataclass
from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pyarrow as pa

# Spark timestamps have a resolution of one microsecond.
_TIMESTAMP = pa.timestamp("us", tz="UTC")
_TYPES: dict[Any, pa.DataType] = {
    bool: pa.bool_(),
    bytes: pa.binary(),
    datetime: _TIMESTAMP,
    float: pa.float64(),
    int: pa.int64(),
    str: pa.string(),
    # A line in the log of a job: the time and the text of the line.
    tuple[datetime, str]: pa.struct([("at", _TIMESTAMP), ("line", pa.string())]),
}


def arrow_field(name: str, hint: Any) -> pa.Field:
    """Return the Arrow field for a type hint. The field allows nulls if the hint has `| None`."""
    optional = NoneType in get_args(hint)
    kinds = [kind for kind in get_args(hint) if kind is not NoneType] if optional else [hint]
    return pa.field(name, _type(*kinds), nullable=optional)


def _type(hint: Any) -> pa.DataType:
    if is_dataclass(hint):
        return pa.struct([arrow_field(name, each) for name, each in get_type_hints(hint).items()])
    if get_origin(hint) is list:
        return pa.list_(_type(*get_args(hint)))
    return _TYPES[hint]
