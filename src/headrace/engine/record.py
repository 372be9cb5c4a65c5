"""The packed record of a job. `job.<field>` in Lua uses the same order of fields."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.engine.states import STATES

_HEADER_SIZES = {0xD9: 2, 0xDA: 3, 0xDB: 5}
_SHORT_TEXTS = range(0xA0, 0xC0)
_FALSE = 0xC2


def text_bytes(packed: msgspec.Raw) -> bytes:
    """Return the bytes of a packed string. Lua packs even binary data as a string."""
    raw = bytes(packed)
    return raw[_HEADER_SIZES.get(raw[0], 1) :]


def name_in(member: bytes) -> str:
    """Return the name in a numbered member of a sorted set. See lib/core/set_members.lua."""
    return member[member[0] + 1 :].decode()


def is_text(packed: msgspec.Raw) -> bool:
    """Return whether a packed value is a string."""
    first = bytes(packed)[0]
    return first in _HEADER_SIZES or first in _SHORT_TEXTS


class Extra(msgspec.Struct, frozen=True, gc=False):
    """Fields of a job that most jobs do not have."""

    tags: list[str] = []
    releases: int = 0
    start_by: int | None = None
    result_ttl: int | None = None
    failure: list[Any] | None = None
    schedule: str | None = None
    key: str = ""
    throttles: list[str] = []
    awaited: bool = False
    if_fails: str = "wait"
    group: str = ""
    unique: str | None = None
    tracked: bool = False
    origin: str | None = None
    first: int | None = None


class Record(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The fields of a job that are packed into one string.

    False means "none": Lua cannot pack null.

    The fields after `data` describe what happened since the job was put. Trailing fields that have
    their default value are omitted.
    """

    state_number: int
    queue: str
    priority: float | int
    seq: int
    put_at: int
    retries: int | bool
    data: msgspec.Raw
    since: int = 0
    attempt: int = 0
    remaining: int | bool = True  # True means the same number as `retries`.
    worker: str = ""
    token: str = ""
    ended: int | bool = False
    extra: Extra | bool = False
    history: list[list[Any]] | bool = False

    @property
    def state(self) -> str:
        """The name of the state."""
        return STATES[self.state_number - 1]

    def extras(self) -> Extra:
        """Return the extra fields, or their defaults if the job has no extra fields."""
        return self.extra if isinstance(self.extra, Extra) else NOTHING

    def inline_data(self) -> bytes | None:
        """Return the payload, or None if the payload is large and stored under its own key."""
        return None if bytes(self.data)[0] == _FALSE else text_bytes(self.data)


STATE_NUMBERS = {state: number for number, state in enumerate(STATES, 1)}

# In a script, a job has the name of the state instead of the state number, and the job id as the
# last field.
FIELDS = ("state", *Record.__struct_fields__[1:], "id")
NOTHING = Extra()

_decode = msgspec.msgpack.Decoder(Record).decode


def decode_record(packed: bytes) -> Record:
    """Decode a stored job and fill in the omitted fields."""
    record = _decode(packed)
    if record.remaining is not True:
        return record
    return msgspec.structs.replace(
        record, since=record.since or record.put_at, remaining=record.retries
    )
