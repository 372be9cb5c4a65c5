"""The columns of events: the fields of Event, and two that the lake adds."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from headrace.engine.events import Event

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
