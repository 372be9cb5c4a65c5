"""The columns of events, made from Event, and what the lake adds to them."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from headrace.engine.events import Event

# Spark knows microseconds only.
_TYPES: dict[type, pa.DataType] = {
    bytes: pa.binary(),
    datetime: pa.timestamp("us", tz="UTC"),
    float: pa.float64(),
    int: pa.int64(),
    str: pa.string(),
}

# Shard and number say which entry it is.
_LEFT_OUT = ("entry_id",)

GAP = "gap"
"""The kind of the row that stands for events which were dropped before they could be read."""


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
        # How many events are missing from this number on, in a row of the kind "gap".
        pa.field("missing", pa.int64()),
        # What an entry says that this version has no column for.
        pa.field("more", pa.map_(pa.string(), pa.binary())),
    ]
)
