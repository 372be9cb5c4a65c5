"""Jobs as a table, for the user's function.

The table has the columns in COLUMNS, then a column data.<field> for each field of the data. Data
that is not an object becomes a single column with the name data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from headrace.app.outcome_exceptions import Discard

DATA = "data"
COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("attempt", pa.int32()),
        ("priority", pa.float64()),
        ("tags", pa.list_(pa.string())),
    ]
)
MISFIT = "Misfit"

_WHOLE = pa.decimal128(20, 0)


class JobRow(NamedTuple):
    """One job. With frame="rows", `work` calls the function with a JobRow.

    `attempt` is the attempt number, starting at 1.

        counts = headrace.spark.work(spark, "letters", lambda row: row.data["to"], frame="rows")
    """

    id: str
    attempt: int
    priority: float
    tags: list[str]
    data: Any


def tabular(
    rows: Sequence[JobRow], schema: pa.Schema | None
) -> tuple[list[tuple[Sequence[JobRow], pa.Table]], dict[str, Discard]]:
    """Return rows as tables, and an error for each row that does not fit into a table.

    If all rows have compatible types, there is only one table.
    """
    tables: list[tuple[Sequence[JobRow], pa.Table]] = []
    misfits: dict[str, Discard] = {}
    parts = [rows]
    while parts:
        part = parts.pop()
        try:
            tables.append((part, _table(part, schema)))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            if len(part) == 1:
                misfits[part[0].id] = Discard(_why(error, schema), failure=MISFIT)
            else:
                middle = len(part) // 2
                parts += [part[middle:], part[:middle]]
    return tables, misfits


def _why(error: Exception, schema: pa.Schema | None) -> str:
    about = "the schema" if schema is not None else "a table; frame='rows' accepts any data"
    return f"the data does not fit {about}: {error}"


def _table(rows: Sequence[JobRow], schema: pa.Schema | None) -> pa.Table:
    ids, attempts, priorities, tags, data = zip(*rows, strict=True)
    facts = [
        pa.array(values, field.type)
        for field, values in zip(COLUMNS, (ids, attempts, priorities, tags), strict=True)
    ]
    values = pa.array(data) if schema is None else _typed(data, schema)
    if not pa.types.is_struct(values.type):
        return pa.table([*facts, values], names=[*COLUMNS.names, DATA])
    names = [f"{DATA}.{field.name}" for field in values.type]
    return pa.table([*facts, *values.flatten()], names=[*COLUMNS.names, *names])


def _typed(data: Sequence[Any], schema: pa.Schema) -> pa.Array:
    wanted = pa.struct([field.with_nullable(True) for field in schema])
    values = pa.array(data, _as_written(wanted)).cast(wanted)
    for field, column in zip(schema, values.flatten(), strict=True):
        if not field.nullable and column.null_count:
            raise ValueError(f"{field.name} is null, but the schema does not allow nulls")
    return values


def _as_written(wanted: pa.DataType) -> pa.DataType:
    """Return the type that decoded JSON values have before the cast to the wanted type.

    JSON has no timestamps and no decimals, so such values are strings.
    """
    if pa.types.is_integer(wanted):
        # With an integer type, Arrow would silently truncate a fraction.
        return _WHOLE
    if pa.types.is_temporal(wanted) or pa.types.is_decimal(wanted):
        return pa.string()
    if pa.types.is_struct(wanted):
        return pa.struct([field.with_type(_as_written(field.type)) for field in wanted])
    if pa.types.is_list(wanted):
        return pa.list_(wanted.value_field.with_type(_as_written(wanted.value_type)))
    return wanted
