"""The columns of events, and the conversion of log entries to them: the bulk `read_event`.

The columns are the fields of Event, and two that the lake adds.

All entries begin with the same fields in the same order. These become columns without a loop over
the entries. The optional fields are collected entry by entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

from headrace.engine.events import VERSION, WITH_DATA, Event

# Spark timestamps have microseconds.
_TYPES: dict[type, pa.DataType] = {
    bytes: pa.binary(),
    datetime: pa.timestamp("us", tz="UTC"),
    float: pa.float64(),
    int: pa.int64(),
    str: pa.string(),
}

# Shard and number identify the entry.
_LEFT_OUT = ("entry_id",)

GAP = "gap"
"""The kind of the row for events that were trimmed before they were read."""


def _field(name: str, hint: Any) -> pa.Field:
    kinds = get_args(hint) or (hint,)
    [kind] = [kind for kind in kinds if kind is not NoneType]
    return pa.field(name, _TYPES[kind], nullable=NoneType in kinds)


EVENTS: pa.Schema = pa.schema(
    [
        *(
            _field(name, hint)
            for name, hint in get_type_hints(Event).items()
            if name not in _LEFT_OUT
        ),
        # In a row of kind "gap": the number of missing events, starting with this one.
        pa.field("missing", pa.int64()),
        # The fields of an entry that this version does not know.
        pa.field("more", pa.map_(pa.string(), pa.binary())),
    ]
)

Pairs = Sequence[bytes]
Entry = Sequence[Any]  # the entry id and the pairs

# The fields of every entry, in the order of lib/core/events.lua.
COMMON = (b"kind", b"id", b"queue", b"attempt", b"worker", b"priority", b"wait", b"run", b"data")
_MAY_BE_MISSING = frozenset({b"wait", b"run", b"data"})
_WORDS = 2 * len(COMMON)

_WITH_DATA = pa.array([kind.encode() for kind in WITH_DATA], pa.binary())
_MICROSECONDS = 1000


def _whole(value: bytes) -> int | None:
    return int(value) if value else None


def _text(value: bytes) -> str:
    # The server cuts a message at a byte, which may be inside a character.
    return value.decode(errors="ignore")


def _text_or_none(value: bytes) -> str | None:
    return _text(value) or None


# The optional fields: the column, and the function that reads a value.
_SOME: dict[bytes, tuple[str, Callable[[bytes], Any]]] = {
    b"at": ("at", int),
    b"v": ("version", int),
    b"tags": ("tags", _text),
    b"delay": ("delay", _whole),
    b"failure": ("failure", _text),
    b"message": ("message", _text),
    b"reason": ("reason", _text),
    b"next": ("next_queue", _text),
    b"from": ("from_queue", _text),
    b"was": ("was", _text),
    b"left_out": ("left_out", _whole),
    b"schedule": ("schedule", _text),
    b"change": ("change", _whole),
    b"place": ("place", _text_or_none),
    b"instance": ("instance", _text_or_none),
    b"origin": ("origin", _text),
}

# The values of each column, by row.
_Some = dict[str, dict[int, Any]]


def event_columns(shard: int, entries: Sequence[Entry]) -> pa.RecordBatch:
    """Return log entries of a shard as a batch with the columns EVENTS.

    An entry is its id and a flat list of field names and values.
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
    """Return the row for events that are missing from number `first` on.

    at is the time of the next event that is there.
    """
    blank: dict[str, Any] = {"job_id": "", "queue": "", "worker": "", "attempt": 0, "priority": 0.0}
    about = {"shard": shard, "number": first, "at": at, "version": VERSION, "missing": missing}
    return pa.RecordBatch.from_pylist([blank | about | {"kind": GAP}], schema=EVENTS)


def _read(pairs: Sequence[Pairs]) -> tuple[Sequence[Pairs], _Some]:
    """Return the values of the common fields by column, and the optional ones."""
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
    """Return the optional fields, and whether a common field is repeated among them."""
    found: _Some = {}
    repeats = False
    for row, each in enumerate(pairs):
        if len(each) == _WORDS:
            continue
        for name, value in zip(each[_WORDS::2], each[_WORDS + 1 :: 2], strict=True):
            known = _SOME.get(name)
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


def _wholes_or_null(values: Pairs) -> pa.Array:
    texts = pa.array(values, pa.string())
    return pc.if_else(pc.equal(texts, ""), None, texts).cast(pa.int64())


def _common_columns(values: Sequence[Pairs], left_out: dict[int, Any]) -> dict[str, pa.Array]:
    kind, job_id, queue, attempt, worker, priority, wait, run, data = values
    kinds = pa.array(kind, pa.binary())
    payloads = pa.array(data, pa.binary())
    tells = pc.or_(pc.is_in(kinds, _WITH_DATA), pc.greater(pc.binary_length(payloads), 0))
    return {
        "kind": kinds.cast(pa.string()),
        "job_id": pa.array(job_id, pa.string()),
        "queue": pa.array(queue, pa.string()),
        "attempt": _wholes(attempt),
        "worker": pa.array(worker, pa.string()),
        "priority": pa.array(priority, pa.string()).cast(pa.float64()),
        "wait": _wholes_or_null(wait),
        "run": _wholes_or_null(run),
        "data": _overlaid(
            pc.if_else(tells, payloads, None),
            {row: b"" if size == 0 else None for row, size in left_out.items()},
        ),
    }


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
