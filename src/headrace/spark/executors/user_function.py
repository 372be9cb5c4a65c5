"""Call the user's function with jobs, and isolate the jobs that make it fail."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from headrace.spark.executors.job_table import JobRow, shape_for, tabular
from headrace.spark.executors.outcomes import outcomes_of

# The most calls with parts of one table. A poison job among a thousand is found in twenty calls; a
# function that always fails must not be called without end.
MOST_CALLS = 64

FUNCTION_FAILS = (Exception, SystemExit)

Function = Callable[[Any], Any]


def by_row(function: Function, rows: Sequence[JobRow]) -> dict[str, Any]:
    """Call the function with one row at a time, and return an outcome for each job id."""
    return {row.id: _of_row(function, row) for row in rows}


def _of_row(function: Function, row: JobRow) -> Any:
    try:
        return outcomes_of([function(row)], [row.id])[0]
    except FUNCTION_FAILS as error:
        return error


def by_table(
    function: Function, rows: Sequence[JobRow], frame: str, schema: pa.Schema | None
) -> dict[str, Any]:
    """Call the function with a table, and return an outcome for each job id.

    There are several tables if the rows do not fit into one.
    """
    tables, misfits = tabular(rows, schema)
    found: dict[str, Any] = {**misfits}
    shape = shape_for(frame)
    for part, table in tables:
        found.update(_in_halves(lambda some: function(shape(some)), part, table))
    return found


def _in_halves(function: Function, rows: Sequence[JobRow], table: pa.Table) -> dict[str, Any]:
    """Call the function with the table; if it fails, with halves, down to single rows.

    After MOST_CALLS calls the remaining rows fail together.
    """
    found: dict[str, Any] = {}
    parts = deque([(rows, table)])
    calls = 0
    while parts:
        some, given = parts.popleft()
        ids = [row.id for row in some]
        calls += 1
        try:
            found.update(zip(ids, outcomes_of(function(given), ids), strict=True))
        except FUNCTION_FAILS as error:
            if len(some) == 1 or calls + len(parts) + 2 > MOST_CALLS:
                found.update(dict.fromkeys(ids, error))
            else:
                middle = len(some) // 2
                parts.append((some[:middle], given.slice(0, middle)))
                parts.append((some[middle:], given.slice(middle)))
    return found
