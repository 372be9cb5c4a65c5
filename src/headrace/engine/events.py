"""Events: entries of the event log. Each event describes one change to a job or a feed.

The schemas of the lake and of Spark are derived from `Event`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

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
OF_OPERATORS = ("tracked", "untracked", "configured")
KINDS = OF_JOBS + OF_FEEDS + OF_OPERATORS

WITH_DATA = ("put", "published", "edited")
"""Kinds of events that always contain the payload. Other events contain only a changed payload."""


unpack = msgspec.msgpack.decode
_unpack_published = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


@dataclass(frozen=True, slots=True)
class Event:
    """An entry of a shard's event log.

    Durations are in milliseconds. None means "not applicable".
    """

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
    actor: str | None = None
    settings: str | None = None
    entry_id: str = ""


def entry_number(entry: str) -> int:
    """Return the event number in the id of a log entry."""
    return int(entry.partition("-")[2])


def _whole(value: bytes) -> int | None:
    return int(value) if value else None


def _text(value: bytes) -> str:
    # The server may truncate a message in the middle of a multi-byte character.
    return value.decode(errors="ignore")


def _text_or_none(value: bytes) -> str | None:
    return _text(value) or None


# For each field of a log entry: the field of Event, and the function that parses the value.
EntryFields = dict[bytes, tuple[str, Callable[[bytes], Any]]]

# The fields of every entry, in the order of lib/core/events.lua.
COMMON_FIELDS: EntryFields = {
    b"kind": ("kind", bytes.decode),
    b"id": ("job_id", bytes.decode),
    b"queue": ("queue", bytes.decode),
    b"attempt": ("attempt", int),
    b"worker": ("worker", bytes.decode),
    b"priority": ("priority", float),
    b"wait": ("wait", _whole),
    b"run": ("run", _whole),
    b"data": ("data", bytes),
}
OPTIONAL_FIELDS: EntryFields = {
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
    b"actor": ("actor", _text),
    b"settings": ("settings", _text),
}
_FIELDS = COMMON_FIELDS | OPTIONAL_FIELDS


def read_event(shard: int, entry_id: bytes, pairs: list[bytes]) -> Event:
    """Decode an entry of the event log. The id of an entry is <milliseconds>-<number>."""
    stamp, _, number = entry_id.partition(b"-")
    found: dict[str, Any] = {"at": int(stamp), "version": VERSION, "data": b""}
    for name, value in zip(pairs[::2], pairs[1::2], strict=True):
        if name in _FIELDS:
            field, parse = _FIELDS[name]
            found[field] = parse(value)
    found["at"] = moment(found["at"])
    found["data"] = _payload(found)
    return Event(shard=shard, number=int(number), entry_id=entry_id.decode(), **found)


def read_published_event(shard: int, message: bytes) -> Event:
    """Decode a published event of a tracked job: a list of the entry id and the fields."""
    entry_id, *pairs = [
        text_bytes(value) if is_text(value) else str(unpack(value)).encode()
        for value in _unpack_published(message)
    ]
    return read_event(shard, entry_id, pairs)


def _payload(found: dict[str, Any]) -> bytes | None:
    if "left_out" in found:
        return b"" if found["left_out"] == 0 else None
    data: bytes = found["data"]
    return data if data or found["kind"] in WITH_DATA else None
