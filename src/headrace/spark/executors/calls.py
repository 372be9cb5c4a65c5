"""Calls the function of a user with jobs, and finds those that it cannot stand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from headrace.spark.executors.frames import Row, shape_for, tabular
from headrace.spark.executors.verdicts import verdicts_of

# How often the function is called with parts of one table. A poison row among a thousand is found
# in twenty calls; a function that fails whatever it is given must not be called for ever.
MOST_CALLS = 64

FUNCTION_FAILS = (Exception, SystemExit)

Function = Callable[[Any], Any]


def by_row(function: Function, rows: Sequence[Row]) -> dict[str, Any]:
    """The verdicts of a function that is called with one row at a time."""
    return {row.id: _of_row(function, row) for row in rows}


def _of_row(function: Function, row: Row) -> Any:
    try:
        return verdicts_of([function(row)], [row.id])[0]
    except FUNCTION_FAILS as error:
        return error


def by_table(
    function: Function, rows: Sequence[Row], frame: str, schema: pa.Schema | None
) -> dict[str, Any]:
    """The verdicts of a function that is called with a table, or several if not all rows fit."""
    tables, misfits = tabular(rows, schema)
    found: dict[str, Any] = {**misfits}
    shape = shape_for(frame)
    for part, table in tables:
        found.update(_in_halves(lambda some: function(shape(some)), part, table))
    return found


def _in_halves(function: Function, rows: Sequence[Row], table: pa.Table) -> dict[str, Any]:
    """Calls the function; if that fails, with halves, until the rows that make it fail are alone.

    When it was called often enough, the rest fails as it is.
    """
    found: dict[str, Any] = {}
    parts = deque([(rows, table)])
    calls = 0
    while parts:
        some, given = parts.popleft()
        ids = [row.id for row in some]
        calls += 1
        try:
            found.update(zip(ids, verdicts_of(function(given), ids), strict=True))
        except FUNCTION_FAILS as error:
            if len(some) == 1 or calls + len(parts) + 2 > MOST_CALLS:
                found.update(dict.fromkeys(ids, error))
            else:
                middle = len(some) // 2
                parts.append((some[:middle], given.slice(0, middle)))
                parts.append((some[middle:], given.slice(middle)))
    return found
