"""A job as the server packs it; what Lua calls job.<field> is compiled from this order."""

from __future__ import annotations

from typing import Any

import msgspec

_HEADER_SIZES = {0xD9: 2, 0xDA: 3, 0xDB: 5}
_SHORT_TEXTS = range(0xA0, 0xC0)
_FALSE = 0xC2


def text_bytes(packed: msgspec.Raw) -> bytes:
    """The bytes of a packed text: Lua has no type of its own for what is no text."""
    raw = bytes(packed)
    return raw[_HEADER_SIZES.get(raw[0], 1) :]


def is_text(packed: msgspec.Raw) -> bool:
    """Whether a packed value is a text."""
    first = bytes(packed)[0]
    return first in _HEADER_SIZES or first in _SHORT_TEXTS


class Extra(msgspec.Struct, frozen=True, gc=False):
    """What few jobs have."""

    tags: list[str] = []
    releases: int = 0
    start_by: int | None = None
    result_ttl: int | None = None
    failure: list[Any] | None = None
    by: str = ""
    schedule: str | None = None
    key: str = ""
    throttles: list[str] = []
    awaited: bool = False
    if_fails: str = "wait"
    group: str = ""
    unique: str | None = None
    tracked: bool = False
    origin: str | None = None


class Record(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The packed part of a job. False stands for "none" where Lua has no null to pack."""

    state: str
    ended: int | bool
    queue: str
    priority: float | int
    seq: int
    put_at: int
    since: int
    attempt: int
    retries: int | bool
    remaining: int | bool
    worker: str
    token: str
    extra: Extra | bool
    history: list[list[Any]] | bool
    data: msgspec.Raw

    def extras(self) -> Extra:
        """The extra part, empty if there is none."""
        return self.extra if isinstance(self.extra, Extra) else NOTHING

    def inline_data(self) -> bytes | None:
        """The payload, or None if it lies apart because it is large."""
        return None if bytes(self.data)[0] == _FALSE else text_bytes(self.data)


# The id follows the packed fields while a script works on a job.
FIELDS = (*Record.__struct_fields__, "id")
NOTHING = Extra()

decode_record = msgspec.msgpack.Decoder(Record).decode
