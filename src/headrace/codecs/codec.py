"""Codecs: values on one side, bytes on the other. The server never looks inside."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any, Protocol

import msgspec

from headrace.errors import InvalidArgument, Unreadable

DIGEST_BYTES = 16


class Codec(Protocol):
    """How job data and results become bytes, and come back.

    A codec that makes other bytes of the same value every time has a third method, digest(value):
    a short text that equal values have in common, for unique=True.
    """

    def encode(self, value: Any) -> bytes: ...

    def decode(self, payload: bytes) -> Any: ...


class Raw:
    """Bytes as they are."""

    def encode(self, value: Any) -> bytes:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise InvalidArgument(f"the raw codec takes bytes, not {type(value).__name__}")

    def decode(self, payload: bytes) -> bytes:
        return payload


def _has_no_number(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_no_number, value.values()))
    return isinstance(value, list | tuple | set) and any(map(_has_no_number, value))


def _writes_no_number(value: Any) -> bool:
    try:
        return _has_no_number(msgspec.to_builtins(value))
    except RecursionError as error:
        raise InvalidArgument(f"the data cannot be written as JSON: {error}") from error


class Json:
    """JSON, the default: readable everywhere."""

    def __init__(self) -> None:
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder().decode

    def encode(self, value: Any) -> bytes:
        try:
            payload = self._encode(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArgument(f"the data cannot be written as JSON: {error}") from error
        if b"null" in payload and _writes_no_number(value):
            raise InvalidArgument("the data cannot be written as JSON: it has no NaN or infinity")
        return payload

    def decode(self, payload: bytes) -> Any:
        try:
            return self._decode(payload)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Unreadable("JSON", payload, str(error)) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return Json, ()


class Msgpack:
    """MessagePack: smaller, and knows bytes."""

    def __init__(self) -> None:
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder().decode

    def encode(self, value: Any) -> bytes:
        try:
            return self._encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InvalidArgument(f"the data cannot be written as msgpack: {error}") from error

    def decode(self, payload: bytes) -> Any:
        try:
            return self._decode(payload)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Unreadable("msgpack", payload, str(error)) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return Msgpack, ()


def digest_of(codec: Codec, value: Any, payload: bytes) -> str:
    """What equal values have in common; for most codecs that is their bytes."""
    own = getattr(codec, "digest", None)
    if own is None:
        return blake2b(payload, digest_size=DIGEST_BYTES).hexdigest()
    return str(own(value))


def same_bytes(codec: Codec) -> bool:
    """Whether equal values become equal bytes."""
    return not hasattr(codec, "digest")


_NAMED: dict[str, type[Raw | Json | Msgpack]] = {"raw": Raw, "json": Json, "msgpack": Msgpack}


def codec_of(codec: str | Codec) -> Codec:
    """A codec by name, or as given."""
    if not isinstance(codec, str):
        if not all(callable(getattr(codec, name, None)) for name in ("encode", "decode")):
            raise InvalidArgument(f"a codec has encode and decode, {codec!r} has not")
        return codec
    try:
        return _NAMED[codec]()
    except KeyError:
        raise InvalidArgument(f"no codec {codec!r}; there are: {', '.join(_NAMED)}") from None
