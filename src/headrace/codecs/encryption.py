"""The encrypting codec: the server stores only ciphertext.

An encrypted payload has a header, a random nonce of 96 bits, and the AES-256-GCM ciphertext. The
ciphertext ends with a tag of 128 bits, which authenticates all parts. The header has a version
byte, the length of the key id, and the key id. If the payload belongs to a job, the header has a
zero byte after the version byte. After the key id, such a header also names the use of the payload
("data" or "result"), the queue and the job id. The length of a name precedes the name in two bytes.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from headrace.codecs.codec import Codec, codec_of, digest_of
from headrace.engine.check import choice, shown, text
from headrace.errors import InvalidArgument, MissingExtra, Unreadable

# JSON and MessagePack never begin with this byte, so the byte marks encrypted data.
VERSION = b"\xc1"
KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
LONGEST_ID = 255
DIGEST_DIGITS = 32


# The byte after the version byte if the payload belongs to a job. No key id has a length of 0.
OF_JOB = b"\0"
CHECKS = ("queue", "job", "nothing")
USES = ("data", "result")


class _Place(NamedTuple):
    """The job that a payload belongs to. An empty id or queue means that it is unknown."""

    job_id: str
    queue: str
    use: str

    def packed(self) -> bytes:
        """Encode the place for the header of a payload."""
        names = [name.encode() for name in (self.queue, self.job_id)]
        sizes = [len(name).to_bytes(2, "big") for name in names]
        return bytes([USES.index(self.use)]) + sizes[0] + names[0] + sizes[1] + names[1]

    def __str__(self) -> str:
        job = f"job {self.job_id!r}" if self.job_id else "any job"
        return f"the {self.use} of {job}" + (f" of queue {self.queue!r}" if self.queue else "")


class _Sealed(NamedTuple):
    """The parts of an encrypted payload. `place` is None if the payload belongs to no job."""

    header: bytes
    key_id: str
    nonce: bytes
    ciphertext: bytes
    place: _Place | None


class Encrypted:
    """A codec that encrypts the bytes of another codec with AES-256-GCM.

    `keys` maps ids to keys of 32 bytes. The id of the key is stored with the data. All keys
    decrypt, but only one key encrypts: the first key, or the key whose id is `current`.

    Encrypted data and results name the job that they belong to. `check` says what must match when
    they are read: "queue" (the job and its queue), "job", or "nothing". With `unbound=False`,
    reading also fails if a payload was encrypted without naming its job. This codec needs the extra
    `headrace[crypto]`.
    """

    def __init__(
        self,
        keys: Mapping[str, bytes],
        codec: str | Codec = "json",
        *,
        current: str | None = None,
        check: Literal["queue", "job", "nothing"] = "queue",
        unbound: bool = True,
    ) -> None:
        self._check = choice("check", check, CHECKS)
        self._unbound = unbound
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
        return self._seal(value, self._header)

    def decode(self, payload: bytes) -> Any:
        """Return the decrypted value, or raise Unreadable.

        This method does not check which job the payload belongs to.
        """
        return self._read(payload, self._opened(_parts(payload), payload))

    def bind(self, job_id: str, queue: str, use: str) -> _OfJob:
        """Return a codec for the data or result of one job; pass "" for an unknown id or queue."""
        return _OfJob(self, _Place(job_id, queue, use))

    def encode_of(self, place: _Place, value: Any) -> bytes:
        """Return the encrypted bytes of a value that belongs to a job."""
        return self._seal(value, VERSION + OF_JOB + self._header[1:] + place.packed())

    def decode_of(self, place: _Place, payload: bytes) -> Any:
        """Return the decrypted value of a job.

        Raises Unreadable if the payload was changed or belongs to another job.
        """
        parts = _parts(payload)
        plain = self._opened(parts, payload)
        if parts.place is None and not self._unbound:
            raise _unreadable(
                payload,
                "the payload belongs to no job, and the codec has unbound=False",
                "omit unbound=False to read data that an earlier version wrote",
            )
        if parts.place is not None and not self._is_allowed(parts.place, place):
            raise _unreadable(
                payload,
                f"the payload is {parts.place}, but it is stored as {place}",
                "a program may have copied it; if a requeue or a replay moved it, read it with "
                "check='job' or check='nothing'",
            )
        return self._read(payload, plain)

    def _is_allowed(self, written: _Place, stored: _Place) -> bool:
        if self._check == "nothing":
            return True
        moved = written.queue and stored.queue and written.queue != stored.queue
        if moved and self._check == "queue":
            return False
        return written.use == stored.use and _is_same_job(written.job_id, stored.job_id)

    def _seal(self, value: Any, header: bytes) -> bytes:
        nonce = os.urandom(NONCE_BYTES)
        cipher = self._ciphers[self._current]
        sealed: bytes = cipher.encrypt(nonce, self._codec.encode(value), header)
        return header + nonce + sealed

    def _read(self, payload: bytes, plain: bytes) -> Any:
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

    def _opened(self, parts: _Sealed, payload: bytes) -> bytes:
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
        options: dict[str, Any] = {
            "current": self._current,
            "check": self._check,
            "unbound": self._unbound,
        }
        return partial(Encrypted, **options), (self._keys, self._codec)

    def __repr__(self) -> str:
        inside = type(self._codec).__name__
        return f"<Encrypted {inside}, keys {self._ids()}, {self._current!r} encrypts>"


class _OfJob(NamedTuple):
    """The encrypting codec for the data or the result of one job."""

    codec: Encrypted
    place: _Place

    def encode(self, value: Any) -> bytes:
        """Return the encrypted bytes of a value, or raise InvalidArgument."""
        return self.codec.encode_of(self.place, value)

    def decode(self, payload: bytes) -> Any:
        """Return the decrypted value, or raise Unreadable."""
        return self.codec.decode_of(self.place, payload)


def _is_same_job(written: str, stored: str) -> bool:
    """Return whether a job may have a payload that was written for this id.

    A put with on_exists="duplicate" may create the job under another id, which begins with this id.
    """
    if not written or not stored or written == stored:
        return True
    start, mark, _ = stored.rpartition("~")
    return mark == "~" and start in (written, f"{{{written}}}")


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
    is_of_job = payload[1:2] == OF_JOB
    named = 3 if is_of_job else 2
    begins = named + int.from_bytes(payload[named - 1 : named])
    key_id = payload[named:begins].decode(errors="replace")
    place = None
    if is_of_job:
        place, begins = _place_at(payload, begins)
    ends = begins + NONCE_BYTES
    if len(payload) < ends + TAG_BYTES:
        raise _unreadable(payload, "the payload is truncated", "read an intact copy")
    return _Sealed(payload[:begins], key_id, payload[begins:ends], payload[ends:], place)


def _place_at(payload: bytes, at: int) -> tuple[_Place, int]:
    """Decode the place in a header; return it, and the position of the part that follows."""
    use = USES[int.from_bytes(payload[at : at + 1]) % len(USES)]
    at += 1
    names = []
    for _ in range(2):
        begins = at + 2
        at = begins + int.from_bytes(payload[at:begins])
        names.append(payload[begins:at].decode(errors="replace"))
    queue, job_id = names
    return _Place(job_id, queue, use), at


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
