"""Compare tables of Spark with the reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from headrace.engine.events import Event
from tests.spark.support import reference

JobRow = dict[str, Any]

KEYS = {
    "attempts": ("shard", "number"),
    "jobs": ("shard", "job_id", "put_at"),
    "daily": ("day", "queue", "by", "name"),
    "failures": ("day", "queue", "failure"),
    "workers": ("day", "worker"),
    "throughput": ("day", "queue", "minute"),
}


def expect_table(name: str, table: DataFrame, events: Sequence[Event]) -> None:
    """Fail if a table over these events differs from the reference."""
    keys = KEYS[name]
    found = _keyed(keys, [row.asDict(recursive=True) for row in table.collect()])
    made = getattr(reference, name)(events)
    expected = made if isinstance(made, dict) else _keyed(keys, made)
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        expect_row(name, key, found[key], row)


def expect_row(name: str, key: tuple[Any, ...], found: JobRow, expected: JobRow) -> None:
    """Fail if a row differs from the expected row by more than rounding."""
    for column, value in expected.items():
        got = found[column]
        same = (
            isinstance(got, float) and math.isclose(got, value, rel_tol=1e-9, abs_tol=1e-12)
            if isinstance(value, float)
            else got == value
        )
        assert same, f"{name} {key}: {column} is {got!r}, not {value!r}"


def _keyed(keys: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[tuple[Any, ...], JobRow]:
    found = {tuple(row[key] for key in keys): dict(row) for row in rows}
    assert len(found) == len(rows)
    return found
