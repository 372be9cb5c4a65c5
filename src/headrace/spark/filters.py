"""What Spark asks for, as a condition on Arrow columns; the rest Spark sees to itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from functools import reduce
from operator import and_, ge, gt, le, lt
from typing import Any

import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

_COMPARED: dict[type[Filter], Callable[[Any, Any], Any]] = {
    GreaterThan: gt,
    GreaterThanOrEqual: ge,
    LessThan: lt,
    LessThanOrEqual: le,
}


def values_wanted(asked: Filter, column: str) -> list[Any] | None:
    """The values that a column may have, if the filter lists them."""
    if not isinstance(asked, (EqualTo, In)) or asked.attribute != (column,):
        return None
    values = asked.value if isinstance(asked, In) else (asked.value,)
    return [value for value in values if value is not None]


def least_time(asked: Filter, column: str) -> datetime | None:
    """The time before which a column need not be looked at, if the filter says so."""
    if not isinstance(asked, (EqualTo, GreaterThan, GreaterThanOrEqual)):
        return None
    return asked.value if asked.attribute == (column,) and _has_zone(asked.value) else None


def condition(asked: Filter, columns: Collection[str]) -> pc.Expression | None:
    """The filter as a condition on one of these columns, none of which may be null."""
    path: tuple[str, ...] = getattr(asked, "attribute", ())
    if len(path) != 1 or path[0] not in columns:
        return None
    column = pc.field(path[0])
    values = values_wanted(asked, path[0])
    if values is not None:
        return column.isin(values) if values and _are_clear(values) else None
    compare = _COMPARED.get(type(asked))
    value = getattr(asked, "value", None)
    return compare(column, value) if compare and _are_clear([value]) else None


def all_of(conditions: Iterable[pc.Expression]) -> pc.Expression | None:
    """One condition of many; None is no condition."""
    found = list(conditions)
    return reduce(and_, found) if found else None


def _are_clear(values: Iterable[Any]) -> bool:
    return all(isinstance(value, (str, int)) or _has_zone(value) for value in values)


def _has_zone(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None
