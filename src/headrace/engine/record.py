"""A job as the server packs it; the fields and their order are those of lua/lib/jobs.lua."""

from __future__ import annotations

from typing import Any

import msgspec

_HEADER_SIZES = {0xD9: 2, 0xDA: 3, 0xDB: 5}


class Record(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The packed part of a job. False stands for "none" where Lua has no null to pack."""

    state: str
    queue: str
    priority: float | int
    seq: int
    put_at: int
    since: int
    attempt: int
    releases: int
    retries: int | bool
    remaining: int | bool
    worker: str
    token: str
    tags: list[str] | bool
    start_by: int | bool
    result_ttl: int | bool
    failure: list[Any] | bool
    history: list[list[Any]] | bool
    by: str
    data: msgspec.Raw

    def inline_data(self) -> bytes | None:
        """The payload, or None if it lies apart because it is large."""
        raw = bytes(self.data)
        first = raw[0]
        if first == 0xC2:
            return None
        return raw[_HEADER_SIZES.get(first, 1) :]


decode_record = msgspec.msgpack.Decoder(Record).decode
