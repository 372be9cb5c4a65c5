"""Convert many log entries to columns at once.

The columns are the fields of Event and two columns that the lake adds.

All entries begin with the same fields in the same order. These common fields become columns without
a loop over the entries. The optional fields are collected entry by entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

from headrace.engine.events import (
    COMMON_FIELDS,
    OPTIONAL_FIELDS,
    VERSION,
    WITH_DATA,
    Event,
)
from headrace.lake.arrow_types import arrow_field

# The entry id is left out, because shard and number identify the entry.
_LEFT_OUT = ("entry_id",)

GAP = "gap"
"""The kind of a gap row, which replaces events that were trimmed before sync read them."""


EVENTS: pa.Schema = pa.schema(
    [
        *(
            arrow_field(name, hint)
            for name, hint in get_type_hints(Event).items()
            if name not in _LEFT_OUT
        ),
        # The number of missing events in a row of kind "gap", or null in other rows. The column
        # "number" of such a row has the number of the first missing event.
        pa.field("missing", pa.int64()),
        # The fields of an entry that this version of Headrace does not know.
        pa.field("more", pa.map_(pa.string(), pa.binary())),
    ]
)

Pairs = Sequence[bytes]
Entry = Sequence[Any]  # The entry id, and a flat list of field names and values.

COMMON = tuple(COMMON_FIELDS)
_MAY_BE_MISSING = frozenset({b"wait", b"run", b"data"})
_WORDS = 2 * len(COMMON)

_WITH_DATA = pa.array(WITH_DATA, pa.string())
_MICROSECONDS = 1000

# The values of each optional column, by row number.
_Some = dict[str, dict[int, Any]]


def event_columns(shard: int, entries: Sequence[Entry]) -> pa.RecordBatch:
    """Return log entries of a shard as a record batch with the schema EVENTS.

    Each entry has an id and a flat list of field names and values.
    """
    if not entries:
        return pa.RecordBatch.from_pylist([], schema=EVENTS)
    size = len(entries)
    words, some = _read([pairs for _, pairs in entries])
    stamps, numbers = _parts_of_ids([entry_id for entry_id, _ in entries])
    columns = {
        "shard": pa.repeat(pa.scalar(shard, pa.int64()), size),
        "number": numbers,
        "at": _times(_overlaid(stamps, some.pop("at", {}))),
        "version": _overlaid(
            pa.repeat(pa.scalar(VERSION, pa.int64()), size), some.pop("version", {})
        ),
        **_common_columns(words, some.get("left_out", {})),
    }
    arrays = [
        columns[field.name]
        if field.name in columns
        else _column(field.type, some.get(field.name), size)
        for field in EVENTS
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=EVENTS)


def gap_row(shard: int, first: int, missing: int, at: datetime) -> pa.RecordBatch:
    """Return the row for missing events; `first` is the number of the first missing event.

    `at` is the time of the first event after the missing events.
    """
    blank: dict[str, Any] = {"job_id": "", "queue": "", "worker": "", "attempt": 0, "priority": 0.0}
    about = {"shard": shard, "number": first, "at": at, "version": VERSION, "missing": missing}
    return pa.RecordBatch.from_pylist([blank | about | {"kind": GAP}], schema=EVENTS)


def _read(pairs: Sequence[Pairs]) -> tuple[Sequence[Pairs], _Some]:
    """Return the values of the common fields by column, and the optional fields."""
    words = list(zip(*pairs, strict=False))[:_WORDS]
    if not _are_common(words):
        pairs = [_in_common_order(each) for each in pairs]
        words = list(zip(*pairs, strict=False))[:_WORDS]
    some, repeats = _some(pairs)
    if repeats:
        return _read([_in_common_order(each) for each in pairs])
    return words[1::2], some


def _are_common(words: Sequence[Pairs]) -> bool:
    return len(words) == _WORDS and all(
        column.count(name) == len(column) for name, column in zip(COMMON, words[::2], strict=True)
    )


def _in_common_order(pairs: Pairs) -> Pairs:
    fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
    ordered: list[bytes] = []
    for name in COMMON:
        value = fields.pop(name, b"") if name in _MAY_BE_MISSING else fields.pop(name)
        ordered += (name, value)
    for name, value in fields.items():
        ordered += (name, value)
    return ordered


def _some(pairs: Sequence[Pairs]) -> tuple[_Some, bool]:
    """Return the entries' optional fields, and whether any entry has a common field twice."""
    found: _Some = {}
    repeats = False
    for row, each in enumerate(pairs):
        if len(each) == _WORDS:
            continue
        for name, value in zip(each[_WORDS::2], each[_WORDS + 1 :: 2], strict=True):
            known = OPTIONAL_FIELDS.get(name)
            if known is not None:
                found.setdefault(known[0], {})[row] = known[1](value)
            else:
                repeats = repeats or name in COMMON
                more = found.setdefault("more", {}).setdefault(row, {})
                more[name.decode(errors="replace")] = value
    return found, repeats


def _parts_of_ids(ids: list[bytes]) -> tuple[pa.Array, pa.Array]:
    parts = b"-".join(ids).split(b"-")
    return _wholes(parts[::2]), _wholes(parts[1::2])


def _wholes(values: Pairs) -> pa.Array:
    return pa.array(values, pa.string()).cast(pa.int64())


def _common_columns(values: Sequence[Pairs], left_out: dict[int, Any]) -> dict[str, pa.Array]:
    names = (name for name, _ in COMMON_FIELDS.values())
    columns = {
        name: _parsed(EVENTS.field(name), each) for name, each in zip(names, values, strict=True)
    }
    has_data = pc.or_(
        pc.is_in(columns["kind"], _WITH_DATA), pc.greater(pc.binary_length(columns["data"]), 0)
    )
    columns["data"] = _overlaid(
        pc.if_else(has_data, columns["data"], None),
        {row: b"" if size == 0 else None for row, size in left_out.items()},
    )
    return columns


def _parsed(field: pa.Field, values: Pairs) -> pa.Array:
    if field.type in (pa.string(), pa.binary()):
        return pa.array(values, field.type)
    texts = pa.array(values, pa.string())
    if field.nullable:
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
    return texts.cast(field.type)


def _overlaid(column: pa.Array, rows: dict[int, Any]) -> pa.Array:
    if not rows:
        return column
    values = column.to_pylist()
    for row, value in rows.items():
        values[row] = value
    return pa.array(values, column.type)


def _times(stamps: pa.Array) -> pa.Array:
    return pc.multiply(stamps, _MICROSECONDS).cast(EVENTS.field("at").type)


def _column(kind: pa.DataType, rows: dict[int, Any] | None, size: int) -> pa.Array:
    if not rows:
        return pa.nulls(size, kind)
    values: list[Any] = [None] * size
    for row, value in rows.items():
        values[row] = list(value.items()) if isinstance(value, dict) else value
    return pa.array(values, kind)
