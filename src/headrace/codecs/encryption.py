"""The encrypting codec: the server stores only ciphertext.

An encrypted payload has five parts: a version byte, the length of the key id, the key id, a random
nonce of 96 bits, and the AES-256-GCM ciphertext. The ciphertext ends with a tag of 128 bits, which
authenticates all five parts.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec

from headrace.codecs.codec import Codec, codec_of, digest_of
from headrace.engine.check import shown, text
from headrace.errors import InvalidArgument, MissingExtra, Unreadable

# JSON and MessagePack never begin with this byte, so the byte marks encrypted data.
VERSION = b"\xc1"
KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
LONGEST_ID = 255
DIGEST_DIGITS = 32


class _Sealed(NamedTuple):
    """The parts of an encrypted payload."""

    header: bytes
    key_id: str
    nonce: bytes
    ciphertext: bytes


class Encrypted:
    """A codec that encrypts the bytes of another codec with AES-256-GCM.

    `keys` maps ids to keys of 32 bytes. The id of the key is stored with the data. All keys
    decrypt, but only one key encrypts: the first key, or the key whose id is `current`. This codec
    needs the extra `headrace[crypto]`.
    """

    def __init__(
        self, keys: Mapping[str, bytes], codec: str | Codec = "json", *, current: str | None = None
    ) -> None:
        self._keys = _checked(keys)
        self._codec = codec_of(codec)
        self._current = next(iter(self._keys)) if current is None else current
        if self._current not in self._keys:
            raise InvalidArgument(f"current={shown(current)} must be one of the keys {self._ids()}")
        aes, self._invalid_tag = _import_cryptography()
        self._ciphers = {key_id: aes(key) for key_id, key in self._keys.items()}
        name = self._current.encode()
        self._header = VERSION + bytes([len(name)]) + name
        self._digest_key = hmac.digest(self._keys[self._current], b"headrace: digest", "sha256")

    @staticmethod
    def new_key() -> bytes:
        """Return a new random key of 32 bytes.

        >>> codec = Encrypted({"2026": Encrypted.new_key()})
        >>> codec.decode(codec.encode({"to": "ada"}))
        {'to': 'ada'}
        """
        return os.urandom(KEY_BYTES)

    def encode(self, value: Any) -> bytes:
        """Return the encrypted bytes of a value.

        Raises InvalidArgument if the inner codec cannot encode the value.
        """
        nonce = os.urandom(NONCE_BYTES)
        cipher = self._ciphers[self._current]
        sealed: bytes = cipher.encrypt(nonce, self._codec.encode(value), self._header)
        return self._header + nonce + sealed

    def decode(self, payload: bytes) -> Any:
        """Return the decrypted value, or raise Unreadable."""
        plain = self._opened(payload)
        try:
            return self._codec.decode(plain)
        except Exception:  # noqa: BLE001, S110 - a codec may raise any error, and quote data
            pass
        # Raise outside the `except` block. Otherwise the new error would refer to the codec's
        # error, which may quote decrypted data.
        raise _unreadable(
            payload,
            "the payload was decrypted, but the inner codec cannot decode it",
            "set codec= to the inner codec that wrote the payload",
        )

    def digest(self, value: Any) -> str:
        """Return a string that is the same for equal values and reveals nothing without the key.

        Raises InvalidArgument if the inner codec cannot encode the value.
        """
        inner = digest_of(self._codec, value, self._canonical(value))
        return hmac.digest(self._digest_key, inner.encode(), "sha256").hex()[:DIGEST_DIGITS]

    def _canonical(self, value: Any) -> bytes:
        """Return bytes that are the same for equal values, whatever the order of dict keys."""
        try:
            return msgspec.msgpack.encode(value, order="sorted")
        except (TypeError, ValueError, OverflowError, RecursionError):
            return self._codec.encode(value)

    def _opened(self, payload: bytes) -> bytes:
        parts = _parts(payload)
        cipher = self._ciphers.get(parts.key_id)
        if cipher is None:
            raise _unreadable(
                payload,
                f"the payload was encrypted with key {parts.key_id!r}; "
                f"this codec has {self._ids()}",
                "add that key to keys=",
            )
        try:
            plain: bytes = cipher.decrypt(parts.nonce, parts.ciphertext, parts.header)
        except self._invalid_tag:
            raise _unreadable(
                payload,
                f"key {parts.key_id!r} does not match",
                "this codec has another key with this id, or the payload was changed",
            ) from None
        return plain

    def _ids(self) -> str:
        return ", ".join(map(repr, self._keys))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Encrypted, current=self._current), (self._keys, self._codec)

    def __repr__(self) -> str:
        inside = type(self._codec).__name__
        return f"<Encrypted {inside}, keys {self._ids()}, {self._current!r} encrypts>"


def _checked(keys: object) -> dict[str, bytes]:
    if not isinstance(keys, Mapping) or not keys:
        raise InvalidArgument(
            "keys must map ids to keys, such as {'2026': key}, with at least one key; "
            "headrace.Encrypted.new_key() returns a new key"
        )
    return {text("a key id", key_id, LONGEST_ID): _key(key_id, keys[key_id]) for key_id in keys}


def _key(key_id: str, key: object) -> bytes:
    if not isinstance(key, bytes) or len(key) != KEY_BYTES:
        size = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise InvalidArgument(
            f"key {key_id!r} must be {KEY_BYTES} bytes, not {size}; "
            "headrace.Encrypted.new_key() returns a valid key"
        )
    return key


def _parts(payload: bytes) -> _Sealed:
    if payload[:1] != VERSION:
        raise _unreadable(
            payload,
            "the payload is not encrypted, or another version of the codec encrypted it",
            "read the payload with the codec that wrote it",
        )
    begins = 2 + int.from_bytes(payload[1:2])
    ends = begins + NONCE_BYTES
    if len(payload) < ends + TAG_BYTES:
        raise _unreadable(payload, "the payload is truncated", "read an intact copy")
    key_id = payload[2:begins].decode(errors="replace")
    return _Sealed(payload[:begins], key_id, payload[begins:ends], payload[ends:])


def _unreadable(payload: bytes, why: str, advice: str) -> Unreadable:
    return Unreadable("encrypted data", payload, why, advice)


def _import_cryptography() -> tuple[Any, type[Exception]]:
    """Return the class AESGCM, and the exception that it raises if a payload was changed."""
    try:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("encryption", "cryptography", "crypto") from None
    return AESGCM, InvalidTag
