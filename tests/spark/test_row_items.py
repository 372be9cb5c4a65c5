"""Conversion of rows to job items, and checks of their columns, without a Spark session."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types

from headrace import Client, InvalidArgument, connect
from headrace.operations.core import Core
from headrace.options import OPTIONS, SCHEDULE_OPTIONS
from headrace.spark.row_items import RowColumns, RowEncoder, columns_of, values
from headrace.testing import open_with_clock

MAP = pa.map_(pa.string(), pa.int64())
PLAIN = RowColumns(has_id=False, fields=None, options=())


@pytest.fixture
def core(valkey_url: str) -> Iterator[Core]:
    client, _ = open_with_clock(valkey_url)
    with client:
        yield client.core


@pytest.fixture
def spread(valkey_url: str) -> Iterator[Client]:
    client, _ = open_with_clock(valkey_url, shards=4)
    with client:
        yield client


KINDS: dict[str, types.DataType] = {
    "string": types.StringType(),
    "int": types.IntegerType(),
    "bigint": types.LongType(),
    "double": types.DoubleType(),
    "decimal": types.DecimalType(5, 2),
    "timestamp": types.TimestampType(),
    "interval": types.DayTimeIntervalType(),
    "struct": types.StructType([types.StructField("n", types.IntegerType())]),
    "strings": types.ArrayType(types.StringType()),
    "numbers": types.ArrayType(types.IntegerType()),
}


def columns(said: str, *, origin: bool = False) -> RowColumns:
    """Parse a schema without Spark, which could parse the text only in a session."""
    pairs = [column.split(" ") for column in said.split(", ")]
    fields = [types.StructField(name, KINDS[kind]) for name, kind in pairs]
    return columns_of(types.StructType(fields), origin=origin)


def items(core: Core, of: RowColumns, *, duplicates: bool = False, **given: Any) -> list[Any]:
    arrays = {
        name.replace("__", "."): held if isinstance(held, pa.Array) else pa.array(held)
        for name, held in given.items()
    }
    batch = pa.RecordBatch.from_pydict(arrays)
    return RowEncoder(core, of, duplicates=duplicates).items(batch)


# Columns


def test_columns_become_id_data_and_options() -> None:
    of = columns(
        "id string, data struct, priority double, tags strings, throttles strings, "
        "delay interval, start_within bigint, result_ttl double, key string, retries int"
    )

    assert (of.has_id, of.fields) == (True, None)
    assert set(of.options) == (SCHEDULE_OPTIONS - {"unique"}) | {"delay"}


@pytest.mark.parametrize("option", sorted({*OPTIONS} - SCHEDULE_OPTIONS - {"id", "delay"}))
def test_option_that_a_staged_row_cannot_have_is_refused(option: str) -> None:
    with pytest.raises(InvalidArgument, match=f"unknown column '{option}'"):
        columns(f"data string, {option} string")


def test_data_fields_may_be_columns() -> None:
    of = columns("data.to string, data.n bigint")

    assert (of.has_id, of.fields, of.options) == (False, ("to", "n"), ())


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("data string, colour string", "unknown column 'colour'.*id, data.*'data.colour'"),
        ("data string, origin string", "unknown column 'origin'"),
        ("data string, data. string", "unknown column 'data.'"),
        ("data string, ID string", "unknown column 'ID'"),
        ("id string", "one column 'data'.*have neither \\(columns: id\\)"),
        ("data string, data.to string", "one column 'data'.*both"),
        ("data string, id int", "column 'id' must hold a string, not int"),
        ("data string, priority string", "column 'priority' must hold a number, not string"),
        ("data string, tags string", "column 'tags' must hold an array of strings, not string"),
        ("data string, tags numbers", "column 'tags' must hold an array of strings"),
        ("data string, delay string", "column 'delay' must hold seconds or a day-time interval"),
        ("data string, delay timestamp", "column 'delay' must hold"),
        ("data string, key int", "column 'key' must hold a string, not int"),
        ("data string, retries double", "column 'retries' must hold a whole number, not double"),
        ("data string, data int", "two columns 'data'"),
    ],
)
def test_wrong_column_is_named(said: str, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        columns(said)


def test_frame_without_columns_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"neither \(columns: none\)"):
        columns_of(types.StructType([]))


def test_replay_rows_have_an_origin_column() -> None:
    assert columns("data string, origin string", origin=True).options == ("origin",)


def test_origin_of_a_replayed_row_is_an_option_of_its_job(core: Core) -> None:
    of = columns("data string, origin string", origin=True)

    assert items(core, of, data=["x"], origin=["old"])[0][3] == {"origin": "old"}
    with pytest.raises(InvalidArgument, match="column 'origin' of a row"):
        items(core, of, data=["x"], origin=["x" * 10_000])


# Rows


def test_rows_without_id_get_new_ids(core: Core) -> None:
    found = items(core, PLAIN, data=["x", "y"])

    assert [payload for _, payload in found] == [b'"x"', b'"y"']
    assert len({job_id for job_id, _ in found}) == 2


@pytest.mark.parametrize(
    ("held", "payload"),
    [
        (pa.array([{"a": 1, "b": {"c": [1, 2]}}]), b'{"a":1,"b":{"c":[1,2]}}'),
        (pa.array([[("k", 1)]], MAP), b'{"k":1}'),
        (
            pa.array([{"m": [("k", 1)]}], pa.struct({"m": pa.map_(pa.string(), pa.int64())})),
            b'{"m":{"k":1}}',
        ),
        (pa.array([[1.5, None]]), b"[1.5,null]"),
        (pa.array([True]), b"true"),
        (pa.array([None], pa.string()), b"null"),
        (pa.array([{"a": 1}, None], pa.struct({"a": pa.int64()}))[1:], b"null"),
        (pa.array([{}], pa.struct([])), b"{}"),
        (pa.array([Decimal("1.10")]), b'"1.10"'),
        (pa.array([date(2026, 1, 2)]), b'"2026-01-02"'),
        (pa.array([datetime(2026, 1, 2, tzinfo=UTC)]), b'"2026-01-02T00:00:00Z"'),
        (pa.array([b"ab"]), b'"YWI="'),
    ],
)
def test_data_of_any_type_is_encoded_as_json(core: Core, held: pa.Array, payload: bytes) -> None:
    [(_, found)] = items(core, PLAIN, data=held)

    assert found == payload


def test_raw_codec_keeps_bytes(valkey_url: str) -> None:
    with connect(valkey_url, namespace="raw", codec="raw") as client:
        [(_, found)] = items(client.core, PLAIN, data=[b"\x00\xff"])

        assert found == b"\x00\xff"
        with pytest.raises(InvalidArgument, match="column 'data' of a row has the value 'x'"):
            items(client.core, PLAIN, data=["x"])


def test_field_columns_become_an_object(core: Core) -> None:
    of = columns("data.to string, data.n int")
    found = items(core, of, data__to=["ada", None], data__n=[1, 2])

    assert [payload for _, payload in found] == [b'{"to":"ada","n":1}', b'{"to":null,"n":2}']


def test_null_options_are_left_out(core: Core) -> None:
    of = columns(
        "id string, data int, priority double, tags strings, delay double, key string, retries int"
    )
    found = items(
        core,
        of,
        id=["a", "b"],
        data=[1, 2],
        priority=[1.5, None],
        tags=[["x", "x"], None],
        delay=[2.5, None],
        key=["k", None],
        retries=[0, None],
    )

    own = {"priority": 1.5, "tags": ["x"], "delay": 2500, "key": "k", "retries": 0}
    assert found == [("a", b"1", "", own), ("b", b"2")]


def test_delay_may_be_interval_or_decimal(core: Core) -> None:
    of = columns("data int, delay interval")
    [(_, _, _, own)] = items(core, of, data=[1], delay=pa.array([timedelta(minutes=1)]))
    assert own == {"delay": 60_000}

    of = columns("data int, delay decimal, priority decimal")
    [(_, _, _, own)] = items(core, of, data=[1], delay=[Decimal("1.25")], priority=[Decimal(3)])
    assert own == {"delay": 1250, "priority": 3}


@pytest.mark.parametrize(
    ("said", "given", "says"),
    [
        ("id string, data int", {"id": ["a", None]}, "column 'id' of a row has the value None"),
        (
            "id string, data int",
            {"id": ["a", ""]},
            "column 'id' of a row has the value '': .* empty",
        ),
        (
            "id string, data int",
            {"id": ["a", "b" * 300]},
            "column 'id' of a row has the value 'bbb",
        ),
        ("id string, data int", {"id": ["a", "b\n"]}, "column 'id'.*control characters"),
        (
            "data int, priority double",
            {"priority": [1, math.nan]},
            "'priority' of a row has the value nan",
        ),
        (
            "data int, tags strings",
            {"tags": [["a"], [""]]},
            r"'tags' of a row has the value \[''\]",
        ),
        (
            "data int, tags strings",
            {"tags": [["a"], [None]]},
            r"'tags' of a row has the value \[None",
        ),
        (
            "data int, delay double",
            {"delay": [1.0, -1.0]},
            "column 'delay' of a row has the value -1.0",
        ),
        ("data int, key string", {"key": ["a", ""]}, "column 'key' of a row has the value ''"),
        (
            "data int, retries int",
            {"retries": [1, -1]},
            "column 'retries' of a row has the value -1",
        ),
    ],
)
def test_wrong_value_is_named_with_its_column(
    core: Core, said: str, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidArgument, match=says) as refused:
        items(core, columns(said), data=[1, 2], **given)

    assert len(str(refused.value)) < 400


def test_data_that_cannot_be_encoded_is_named(core: Core) -> None:
    with pytest.raises(
        InvalidArgument, match=r"column 'data' of a row has the value nan: .*no NaN"
    ):
        items(core, PLAIN, data=[1.0, math.nan])
    with pytest.raises(
        InvalidArgument, match=r"column 'data' of a row has the value 'xxx.*1048576 bytes"
    ):
        items(core, PLAIN, data=["x" * (1 << 20)])


def test_duplicates_policy_adds_spare_ids(spread: Client) -> None:
    of = columns("id string, data int")
    [(job_id, _, spare, own)] = items(spread.core, of, duplicates=True, id=["a"], data=[1])

    assert (job_id, own) == ("a", {})
    assert spare != "a"
    assert spread.core.shard_of(spare) == spread.core.shard_of("a")


def test_job_with_key_is_on_the_shard_of_its_key(spread: Client) -> None:
    of = columns("data int, key string")
    names = [f"key{number}" for number in range(20)]
    found = items(spread.core, of, data=[*range(20)], key=names)

    assert [spread.core.shard_of(item[0]) for item in found] == [
        spread.core.shard_of(name) for name in names
    ]


def test_id_and_key_on_different_shards_are_refused(spread: Client) -> None:
    of = columns("id string, data int, key string")
    other = next(
        name
        for name in map(str, range(50))
        if spread.core.shard_of(name) != spread.core.shard_of("a")
    )
    with pytest.raises(InvalidArgument, match="different shards"):
        items(spread.core, of, id=["a"], data=[1], key=[other])


def test_structs_with_and_without_nulls_are_converted_alike() -> None:
    for held in ([{"a": 1, "b": {"c": "x"}}], [{"a": None, "b": None}, None, {"a": 2, "b": None}]):
        column = pa.array(held, pa.struct({"a": pa.int64(), "b": pa.struct({"c": pa.string()})}))
        assert values(column) == held
        assert values(column[1:]) == held[1:]
