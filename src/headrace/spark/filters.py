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


def time_bounds(asked: Filter, column: str) -> tuple[datetime | None, datetime | None]:
    """The times between which a column is wanted, as far as the filter says so."""
    value = getattr(asked, "value", None)
    if getattr(asked, "attribute", None) != (column,) or not _has_zone(value):
        return None, None
    least = value if isinstance(asked, (EqualTo, GreaterThan, GreaterThanOrEqual)) else None
    most = value if isinstance(asked, (EqualTo, LessThan, LessThanOrEqual)) else None
    return least, most


def condition(asked: Filter, columns: Collection[str]) -> pc.Expression | None:
    """The filter as a condition on one of these columns."""
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
