"""Codecs encode the data and the results of jobs to bytes, which the server never decodes."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any, ClassVar, Protocol

import msgspec

from headrace.errors import InvalidArgument, Unreadable

DIGEST_BYTES = 16


class Codec(Protocol):
    """The interface of a codec.

    A codec that encodes equal values to different bytes needs a third method, `digest(value)`, for
    `unique=True`. This method returns a short string that is the same for equal values.

    A codec that binds a payload to its job has a method `bind(job_id, queue, use)`, which returns a
    codec for that job. `use` is "data" or "result". An empty id or queue means that it is unknown.
    """

    def encode(self, value: Any) -> bytes:
        """Encode a value and return the bytes.

        Raises InvalidArgument if the codec cannot encode the value.
        """
        ...

    def decode(self, payload: bytes) -> Any:
        """Decode bytes and return the value.

        Raises Unreadable if the bytes are not the output of this codec.
        """
        ...


class Raw:
    """A codec that stores bytes unchanged."""

    def encode(self, value: Any) -> bytes:
        """Return the value as bytes; raise InvalidArgument if the value is not bytes-like."""
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise InvalidArgument(f"the raw codec takes bytes, not {type(value).__name__}")

    def decode(self, payload: bytes) -> bytes:
        """Return the bytes."""
        return payload


def _contains_non_finite(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_contains_non_finite, value.values()))
    return isinstance(value, list | tuple | set) and any(map(_contains_non_finite, value))


def _encodes_non_finite(value: Any) -> bool:
    try:
        return _contains_non_finite(msgspec.to_builtins(value))
    except RecursionError as error:
        raise InvalidArgument(f"the data cannot be written as JSON: {error}") from error


class _MsgspecCodec:
    """Base class of the codecs whose format msgspec implements."""

    _name: ClassVar[str]
    _format: ClassVar[Any]

    def __init__(self) -> None:
        self._encode = self._format.Encoder().encode
        self._decode = self._format.Decoder().decode

    def encode(self, value: Any) -> bytes:
        """Return the encoded value, or raise InvalidArgument."""
        try:
            payload: bytes = self._encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise InvalidArgument(f"the data cannot be written as {self._name}: {error}") from error
        return payload

    def decode(self, payload: bytes) -> Any:
        """Return the decoded value, or raise Unreadable."""
        try:
            return self._decode(payload)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Unreadable(self._name, payload, str(error)) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class Json(_MsgspecCodec):
    """JSON, the default codec."""

    _name = "JSON"
    _format: ClassVar = msgspec.json

    def encode(self, value: Any) -> bytes:
        """Return the value as JSON, or raise InvalidArgument."""
        payload = super().encode(value)
        if b"null" in payload and _encodes_non_finite(value):
            raise InvalidArgument(
                "the data cannot be written as JSON, which has no NaN or infinity"
            )
        return payload


class Msgpack(_MsgspecCodec):
    """The MessagePack codec supports bytes and writes smaller payloads than the JSON codec."""

    _name = "msgpack"
    _format: ClassVar = msgspec.msgpack


def bound(codec: Codec, job_id: str, queue: str = "", use: str = "data") -> Codec:
    """Return the codec for a payload of one job; most codecs do not depend on the job."""
    bind = getattr(codec, "bind", None)
    return codec if bind is None else bind(job_id, queue, use)


def binds(codec: Codec) -> bool:
    """Return whether the codec ties each payload to one job and queue."""
    return hasattr(codec, "bind")


def digest_of(codec: Codec, value: Any, payload: bytes) -> str:
    """Return the codec's digest of a value, or a hash of the payload if the codec has no digest."""
    own = getattr(codec, "digest", None)
    if own is None:
        return blake2b(payload, digest_size=DIGEST_BYTES).hexdigest()
    return str(own(value))


def same_bytes(codec: Codec) -> bool:
    """Return whether the codec encodes equal values to equal bytes."""
    return not hasattr(codec, "digest")


_NAMED: dict[str, type[Raw | Json | Msgpack]] = {"raw": Raw, "json": Json, "msgpack": Msgpack}


def codec_of(codec: str | Codec) -> Codec:
    """Return the codec with this name, or the argument itself if it is a codec object."""
    if not isinstance(codec, str):
        if not all(callable(getattr(codec, name, None)) for name in ("encode", "decode")):
            raise InvalidArgument(
                f"a codec must have the methods encode and decode, but {codec!r} lacks one"
            )
        return codec
    try:
        return _NAMED[codec]()
    except KeyError:
        raise InvalidArgument(f"no codec {codec!r}; the codecs are {', '.join(_NAMED)}") from None
