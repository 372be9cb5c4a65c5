"""Events: entries of the event log, each of one change of a job or a feed.

The schemas of the lake and of Spark are derived from `Event`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import msgspec

from headrace.engine.record import is_text, text_bytes
from headrace.engine.timestamps import moment

VERSION = 1

OF_JOBS = (
    "put",
    "due",
    "blocked",
    "unlocked",
    "popped",
    "completed",
    "failed",
    "retried",
    "updated",
    "released",
    "lost",
    "unfailed",
    "prioritised",
    "tagged",
    "cancelled",
    "expired",
)
OF_FEEDS = (
    "published",
    "edited",
    "retracted",
    "positioned",
    "feed_made",
    "feed_configured",
    "feed_deleted",
)
KINDS = OF_JOBS + OF_FEEDS

WITH_DATA = ("put", "published", "edited")
"""Kinds whose events always contain the payload; other kinds do if the payload has changed."""


unpack = msgspec.msgpack.decode
_unpack_published = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


@dataclass(frozen=True, slots=True)
class Event:
    """An entry of a shard's event log. Durations are milliseconds; None means "does not apply"."""

    shard: int
    number: int
    at: datetime
    version: int
    kind: str
    job_id: str
    queue: str
    attempt: int
    worker: str
    priority: float
    wait: int | None = None
    run: int | None = None
    data: bytes | None = None
    tags: str | None = None
    delay: int | None = None
    failure: str | None = None
    message: str | None = None
    reason: str | None = None
    next_queue: str | None = None
    from_queue: str | None = None
    was: str | None = None
    left_out: int | None = None
    schedule: str | None = None
    change: int | None = None
    place: str | None = None
    instance: str | None = None
    origin: str | None = None
    entry_id: str = ""


def entry_number(entry: str) -> int:
    """Return the number of an event from the id of its log entry."""
    return int(entry.partition("-")[2])


def read_event(shard: int, entry_id: bytes, pairs: list[bytes]) -> Event:
    """Decode an entry of the stream. Its id is <milliseconds>-<number>."""
    stamp, _, number = entry_id.partition(b"-")
    fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
    kind = fields[b"kind"].decode()
    return Event(
        shard=shard,
        number=int(number),
        at=moment(int(fields.get(b"at", stamp))),
        version=int(fields.get(b"v", VERSION)),
        kind=kind,
        job_id=fields[b"id"].decode(),
        queue=fields[b"queue"].decode(),
        attempt=int(fields[b"attempt"]),
        worker=fields[b"worker"].decode(),
        priority=float(fields[b"priority"]),
        wait=_whole(fields, b"wait"),
        run=_whole(fields, b"run"),
        data=_payload(kind, fields),
        tags=_text(fields, b"tags"),
        delay=_whole(fields, b"delay"),
        failure=_text(fields, b"failure"),
        message=_text(fields, b"message"),
        reason=_text(fields, b"reason"),
        next_queue=_text(fields, b"next"),
        from_queue=_text(fields, b"from"),
        was=_text(fields, b"was"),
        left_out=_whole(fields, b"left_out"),
        schedule=_text(fields, b"schedule"),
        change=_whole(fields, b"change"),
        place=_text(fields, b"place") or None,
        instance=_text(fields, b"instance") or None,
        origin=_text(fields, b"origin"),
        entry_id=entry_id.decode(),
    )


def read_published_event(shard: int, message: bytes) -> Event:
    """Decode an event that was published for a tracked job: the entry id, then the fields."""
    entry_id, *pairs = [
        text_bytes(value) if is_text(value) else str(unpack(value)).encode()
        for value in _unpack_published(message)
    ]
    return read_event(shard, entry_id, pairs)


def _payload(kind: str, fields: dict[bytes, bytes]) -> bytes | None:
    if b"left_out" in fields:
        return b"" if _whole(fields, b"left_out") == 0 else None
    data = fields.get(b"data", b"")
    return data if data or kind in WITH_DATA else None


def _whole(fields: dict[bytes, bytes], name: bytes) -> int | None:
    value = fields.get(name)
    return int(value) if value else None


def _text(fields: dict[bytes, bytes], name: bytes) -> str | None:
    value = fields.get(name)
    # The script shortens messages by bytes, perhaps in the middle of a character.
    return value.decode(errors="ignore") if value is not None else None
