"""Convert rows of a DataFrame to job items, and check the columns and values of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, get_type_hints

import pyarrow as pa
from pyspark.sql import types

from headrace.engine.check import Span, shown, text
from headrace.errors import InvalidArgument
from headrace.operations.core import Core
from headrace.operations.ids import new_ids, settled_id, spare_id
from headrace.operations.putting import Item, encoded
from headrace.options import ORIGIN, SCHEDULE_OPTIONS, JobOptions, check_options

DATA = "data"
FIELD = "data."
ID = "id"

_INTEGRAL = (types.ByteType, types.ShortType, types.IntegerType, types.LongType)
_NUMBER = (*_INTEGRAL, types.FloatType, types.DoubleType, types.DecimalType)
_TEXT = (types.StringType,)

# For each type of an option: the allowed column types, and their description for error messages.
_COLUMN_TYPES: dict[Any, tuple[tuple[type, ...], str]] = {
    float | None: (_NUMBER, "a number"),
    int | None: (_INTEGRAL, "a whole number"),
    str | None: (_TEXT, "a string"),
    Span | None: ((*_NUMBER, types.DayTimeIntervalType), "seconds or a day-time interval"),
    Iterable[str] | None: ((types.ArrayType,), "an array of strings"),
}
# Options that refer to other jobs, such as depends_on and unique, are not allowed: the server could
# refuse a row because of another job, but a committed row always becomes a job.
OPTIONS = {
    name: _COLUMN_TYPES[hint]
    for name, hint in get_type_hints(JobOptions).items()
    if name == "delay" or name in SCHEDULE_OPTIONS - {"unique"}
}
_KNOWN = (*OPTIONS, ORIGIN)
ALLOWED = f"id, data (or columns {FIELD}<field>), {', '.join(OPTIONS)}"


@dataclass(frozen=True, slots=True)
class RowColumns:
    """The columns of rows: an optional id, one data column or columns of fields, and options."""

    has_id: bool
    fields: tuple[str, ...] | None
    options: tuple[str, ...]


def columns_of(schema: types.StructType, *, origin: bool = False) -> RowColumns:
    """Return the columns of a DataFrame. Raises InvalidArgument if a column is not allowed."""
    names = schema.fieldNames()
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgument(f"there are two columns {twice!r}; rename one of them")
    for column in schema.fields:
        _check_column(column, origin=origin)
    fields = tuple(name.removeprefix(FIELD) for name in names if name.startswith(FIELD))
    if (DATA in names) == bool(fields):
        raise InvalidArgument(
            f"the data of a job must be one column {DATA!r}, or columns {FIELD}<field>; the rows "
            f"have {'both' if fields else 'neither'} (columns: {', '.join(names) or 'none'})"
        )
    options = tuple(name for name in names if name in _KNOWN)
    return RowColumns(ID in names, fields or None, options)


def _check_column(column: types.StructField, *, origin: bool) -> None:
    name = column.name
    if name == DATA or (name.startswith(FIELD) and name != FIELD):
        return
    wanted = OPTIONS.get(name)
    if name == ID or (name == ORIGIN and origin):
        wanted = (_TEXT, "a string")
    if wanted is None:
        raise InvalidArgument(
            f"unknown column {name!r}: a row may have {ALLOWED}; drop the column, or add it to the "
            f"data by renaming it to {FIELD + name!r}"
        )
    kind = column.dataType
    if not isinstance(kind, wanted[0]) or not _holds_strings(kind):
        raise InvalidArgument(
            f"column {name!r} must hold {wanted[1]}, not {kind.simpleString()}; cast the column"
        )


def _holds_strings(kind: types.DataType) -> bool:
    return not isinstance(kind, types.ArrayType) or isinstance(kind.elementType, types.StringType)


class RowEncoder:
    """Checks rows and converts the rows to job items.

    If `duplicates` is set, each row with an id also gets a spare id. The server uses the spare id
    if a job with the row's id exists.
    """

    def __init__(self, core: Core, columns: RowColumns, *, duplicates: bool) -> None:
        self._core = core
        self._columns = columns
        self._spares = duplicates and columns.has_id

    def items(self, batch: pa.RecordBatch) -> list[Item]:
        """Return one item for each row. Raises InvalidArgument with the name of a wrong column."""
        payloads = self._payloads(batch)
        ids = self._ids(batch)
        if not self._columns.options and not self._spares:
            return list(zip(ids, payloads, strict=True))
        return [
            self._full(job_id, payload, own)
            for job_id, payload, own in zip(ids, payloads, self._options(batch), strict=True)
        ]

    def _payloads(self, batch: pa.RecordBatch) -> list[bytes]:
        core = self._core
        data = _data(batch, self._columns.fields)
        try:
            return [encoded(core, value) for value in data]
        except InvalidArgument:
            return [_checked(DATA, value, lambda given: encoded(core, given)) for value in data]

    def _ids(self, batch: pa.RecordBatch) -> Any:
        if not self._columns.has_id:
            return [None] * batch.num_rows if self._columns.options else [*new_ids(batch.num_rows)]
        longest = self._core.limits.name
        given = batch.column(ID).to_pylist()
        for job_id in given:
            _checked(ID, job_id, lambda one: text("it", one, longest))
        return given

    def _options(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        names = self._columns.options
        if not names:
            yield from ({} for _ in range(batch.num_rows))
            return
        columns = [values(batch.column(name)) for name in names]
        for row in zip(*columns, strict=True):
            pairs = zip(names, row, strict=True)
            given = {name: _number(value) for name, value in pairs if value is not None}
            try:
                yield check_options(given, self._core.limits, known=_KNOWN)
            except InvalidArgument as error:
                raise _wrong_option(self._core, given) from error

    def _full(self, given_id: str | None, payload: bytes, own: dict[str, Any]) -> Item:
        job_id = settled_id(self._core, given_id, own)
        if not own and not self._spares:
            return job_id, payload
        return job_id, payload, spare_id(self._core, job_id) if self._spares else "", own


def _data(batch: pa.RecordBatch, fields: Sequence[str] | None) -> list[Any]:
    if fields is None:
        return values(batch.column(DATA))
    columns = [values(batch.column(FIELD + name)) for name in fields]
    return [dict(zip(fields, row, strict=True)) for row in zip(*columns, strict=True)]


def values(column: pa.Array) -> list[Any]:
    """Return a column as Python values.

    Splitting structs into fields makes the conversion several times faster.
    """
    if not pa.types.is_struct(column.type) or column.type.num_fields == 0:
        return column.to_pylist(maps_as_pydicts="strict")  # type: ignore[no-any-return]
    names = [column.type.field(number).name for number in range(column.type.num_fields)]
    rows = zip(*map(values, column.flatten()), strict=True)
    if column.null_count == 0:
        return [dict(zip(names, row, strict=True)) for row in rows]
    there = column.is_valid().to_pylist()
    return [
        dict(zip(names, row, strict=True)) if is_there else None
        for row, is_there in zip(rows, there, strict=True)
    ]


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def _checked(column: str, value: Any, check: Callable[[Any], Any]) -> Any:
    try:
        return check(value)
    except InvalidArgument as error:
        raise InvalidArgument(
            f"column {column!r} of a row has the value {shown(value)}: {error}"
        ) from error


def _wrong_option(core: Core, given: dict[str, Any]) -> InvalidArgument:
    """Check each option alone, and return an error that names the first invalid option."""
    for name, value in given.items():
        try:
            check_options({name: value}, core.limits, known=_KNOWN)
        except InvalidArgument as error:
            return InvalidArgument(
                f"column {name!r} of a row has the value {shown(value)}: {error}"
            )
    return InvalidArgument(f"the options of a row cannot be combined: {shown(given)}")
