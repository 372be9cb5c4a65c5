from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.spark.executors.job_table import JobRow, tabular

NUMBERS = pa.schema([("n", pa.int64())])


def rows(*data: Any) -> list[JobRow]:
    return [JobRow(f"job-{at}", 1, 0, [], each) for at, each in enumerate(data)]


def only_table(*data: Any, schema: pa.Schema | None = None) -> pa.Table:
    [(_, table)], misfits = tabular(rows(*data), schema)
    assert not misfits
    return table


def test_table_has_job_columns_and_data_fields() -> None:
    given = [
        JobRow("a", 2, -1.5, ["vip"], {"x": 1, "id": "theirs"}),
        JobRow("b", 1, 0, [], {"x": 2.5}),
    ]
    [(_, table)], _ = tabular(given, None)
    assert table.to_pylist() == [
        {
            "id": "a",
            "attempt": 2,
            "priority": -1.5,
            "tags": ["vip"],
            "data.x": 1.0,
            "data.id": "theirs",
        },
        {"id": "b", "attempt": 1, "priority": 0, "tags": [], "data.x": 2.5, "data.id": None},
    ]


def test_data_that_is_not_an_object_is_one_column() -> None:
    assert only_table(1, 2, None)["data"].to_pylist() == [1, 2, None]
    assert only_table(b"\x00", b"\x01")["data"].type == pa.binary()


def test_empty_objects_keep_their_rows() -> None:
    table = only_table({}, {})
    assert table.num_rows == 2
    assert table.column_names == ["id", "attempt", "priority", "tags"]


def test_nested_data_stays_nested() -> None:
    table = only_table({"place": {"x": 1, "y": [1, 2]}})
    assert table["data.place"].to_pylist() == [{"x": 1, "y": [1, 2]}]


def test_timestamps_stay_text_without_schema() -> None:
    data = {"at": "2026-11-01T12:00:00Z", "price": "1.50"}
    assert only_table(data)["data.at"].type == pa.string()
    schema = pa.schema([("at", pa.timestamp("us", tz="UTC")), ("price", pa.decimal128(9, 2))])
    table = only_table(data, schema=schema)
    assert table.schema.field("data.at").type == pa.timestamp("us", tz="UTC")
    assert str(table["data.price"][0]) == "1.50"


def test_schema_adds_nulls_and_drops_other_fields() -> None:
    schema = pa.schema([("n", pa.int64()), ("inner", pa.struct([("days", pa.list_(pa.date32()))]))])
    table = only_table({"n": 1, "other": 2}, {"inner": {"days": ["2026-11-01"]}}, schema=schema)
    assert table["data.n"].to_pylist() == [1, None]
    [_, inner] = table["data.inner"].to_pylist()
    assert str(inner["days"][0]) == "2026-11-01"
    assert "data.other" not in table.column_names


def test_rows_that_do_not_fit_a_schema_are_separated() -> None:
    tables, misfits = tabular(rows({"n": 1}, {"n": "two"}, {"n": 3}, 4, {"n": 5.5}), NUMBERS)
    assert sorted(misfits) == ["job-1", "job-3", "job-4"]
    assert "does not fit the schema" in str(misfits["job-1"])
    fitting = [row.id for part, _ in tables for row in part]
    assert fitting == ["job-0", "job-2"]
    assert [n for _, table in tables for n in table["data.n"].to_pylist()] == [1, 3]


def test_null_in_required_field_is_reported() -> None:
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    _, misfits = tabular(rows({"n": 1}, {}), schema)
    assert "n is null" in str(misfits["job-1"])


def test_rows_of_different_types_become_several_tables() -> None:
    tables, misfits = tabular(rows({"n": 1}, {"n": 2}, {"n": "x"}, 4), None)
    assert not misfits
    assert [table["id"].to_pylist() for _, table in tables] == [
        ["job-0", "job-1"],
        ["job-2"],
        ["job-3"],
    ]


def test_row_that_fits_no_table_is_separated() -> None:
    _, misfits = tabular(rows({"list": [1, "x"]}, {"list": [1]}), None)
    assert list(misfits) == ["job-0"]
    assert "frame='rows' accepts any data" in str(misfits["job-0"])


@pytest.mark.parametrize("count", [1, 7, 100])
def test_every_row_is_in_a_table_or_separated_in_order(count: int) -> None:
    given = rows(*({"n": n if n % 5 else "x"} for n in range(count)))
    tables, misfits = tabular(given, NUMBERS)
    assert set(misfits) == {f"job-{n}" for n in range(0, count, 5)}
    found = [row for part, _ in tables for row in part]
    assert found == [row for row in given if row.id not in misfits]
