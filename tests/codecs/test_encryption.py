"""The encrypting codec hides data from the server and detects changed or foreign data."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace import Client, Encrypted, InvalidArgument, Unreadable
from headrace.codecs.codec import Codec, Raw, codec_of, digest_of
from headrace.testing import settable_clock
from tests.support.clients import CLIENT_KINDS, got, opened

OLD, NEW = Encrypted.new_key(), Encrypted.new_key()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@contextmanager
def connected(url: str, codec: Codec) -> Iterator[Client]:
    with headrace.connect(url, namespace=f"crypt-{uuid4().hex}", codec=codec) as hr:
        yield hr


@settings(deadline=None)
@given(value=VALUES, name=st.sampled_from(["json", "msgpack"]))
def test_encrypted_data_are_decrypted(value: Any, name: str) -> None:
    codec = Encrypted({"a": NEW}, name)
    assert codec.decode(codec.encode(value)) == value


@settings(deadline=None)
@given(data=st.binary())
def test_bytes_of_every_length_are_encrypted_and_decrypted(data: bytes) -> None:
    codec = Encrypted({"a": NEW}, "raw")
    payload = codec.encode(data)
    assert codec.decode(payload) == data
    assert len(payload) == len(data) + 31
    assert len(data) < 4 or data not in payload


@settings(deadline=None)
@given(
    at=st.integers(0, 10**6),
    to=st.integers(1, 255),
    size=st.integers(0, 300),
    key_id=st.text("é", min_size=1, max_size=9),
)
def test_changed_byte_is_detected(at: int, to: int, size: int, key_id: str) -> None:
    codec = Encrypted({key_id: NEW, key_id + "b": OLD}, "raw")
    payload = bytearray(codec.encode(b"x" * size))
    payload[at % len(payload)] ^= to
    with pytest.raises(Unreadable):
        codec.decode(bytes(payload))


def test_truncated_or_extended_data_are_detected() -> None:
    codec = Encrypted({"a": NEW})
    payload = codec.encode({"to": "ada"})
    for cut in range(len(payload)):
        with pytest.raises(Unreadable):
            codec.decode(payload[:cut])
    with pytest.raises(Unreadable, match="does not match"):
        codec.decode(payload + b"x")


def test_equal_data_are_encrypted_to_different_bytes() -> None:
    codec = Encrypted({"a": NEW})
    assert len({codec.encode("same") for _ in range(50)}) == 50


def test_keys_can_be_rotated() -> None:
    before = Encrypted({"1": OLD})
    between = Encrypted({"1": OLD, "2": NEW})
    after = Encrypted({"1": OLD, "2": NEW}, current="2")
    later = Encrypted({"2": NEW})

    assert between.decode(before.encode("x")) == "x"
    assert before.decode(between.encode("x")) == "x"
    assert between.decode(after.encode("x")) == "x"
    assert later.decode(after.encode("x")) == "x"
    with pytest.raises(Unreadable, match=r"with key '1'; this codec has '2'\): add that key"):
        later.decode(between.encode("x"))


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (b'{"to":"ada"}', "the payload is not encrypted"),
        (b"", "the payload is not encrypted"),
        (Encrypted({"b": NEW}).encode({"to": "ada"}), "with key 'b'; this codec has 'a'"),
        (Encrypted({"a": OLD}).encode({"to": "ada"}), "key 'a' does not match"),
        (Encrypted({"a": NEW}).encode({"to": "ada"})[:20], "the payload is truncated"),
        (Encrypted({"a": NEW}, "raw").encode(b'{"to":"ada'), "the inner codec cannot decode it"),
    ],
    ids=["plain", "empty", "unknown key", "other key", "cut", "other codec"],
)
def test_error_shows_neither_data_nor_keys(payload: bytes, says: str) -> None:
    codec = Encrypted({"a": NEW})
    with pytest.raises(Unreadable, match=says) as found:
        codec.decode(payload)
    error = found.value
    assert "ada" not in str(error)
    assert error.payload == payload
    assert error.__context__ is None or "ada" not in str(vars(error.__context__))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - our own


class Talkative:
    """A codec whose errors contain the data."""

    def encode(self, value: Any) -> bytes:
        return bytes(value)

    def decode(self, payload: bytes) -> Any:
        raise KeyError(payload)


def test_error_of_the_inner_codec_becomes_unreadable_without_data() -> None:
    codec = Encrypted({"a": NEW}, Talkative())

    with pytest.raises(Unreadable, match="the inner codec cannot decode it") as found:
        codec.decode(codec.encode(b"ada"))

    assert (found.value.__cause__, found.value.__context__) == (None, None)


def test_codec_survives_pickling_and_its_repr_hides_keys() -> None:
    codec = Encrypted({"1": OLD, "2": NEW}, "msgpack", current="2")
    other = pickle.loads(pickle.dumps(codec))  # noqa: S301 - our own
    assert other.decode(codec.encode({"a": b"\0"})) == {"a": b"\0"}
    assert repr(other) == "<Encrypted Msgpack, keys '1', '2', '2' encrypts>"
    assert other.digest([1]) == codec.digest([1])


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        ({}, {}),
        (NEW, {}),
        ([("a", NEW)], {}),
        ({"a": NEW[:31]}, {}),
        ({"a": NEW.hex()}, {}),
        ({"": NEW}, {}),
        ({"é" * 128: NEW}, {}),
        ({1: NEW}, {}),
        ({"a": NEW}, {"current": "b"}),
        ({"a": NEW}, {"codec": "yaml"}),
        ({"a": NEW}, {"codec": 5}),
    ],
    ids=range(11),
)
def test_invalid_keys_are_refused_and_not_shown(keys: Any, options: Any) -> None:
    with pytest.raises(InvalidArgument) as found:
        Encrypted(keys, **options)
    assert NEW.hex() not in str(found.value)
    assert repr(NEW)[2:-1] not in str(found.value)


def test_error_without_the_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises(headrace.MissingExtra, match=r"pip install 'headrace\[crypto\]'") as found:
        Encrypted({"a": NEW})
    assert isinstance(found.value, ImportError)


def test_digest_depends_on_the_key_and_the_data() -> None:
    codec = Encrypted({"a": NEW})
    assert codec.digest({"to": "ada"}) == codec.digest({"to": "ada"})
    others = [
        codec.digest({"to": "bob"}),
        Encrypted({"a": OLD}).digest({"to": "ada"}),
        digest_of(codec_of("json"), None, codec_of("json").encode({"to": "ada"})),
    ]
    assert codec.digest({"to": "ada"}) not in others
    assert codec.digest({"a": {"b": 1, "c": 2}}) == codec.digest({"a": {"c": 2, "b": 1}})
    assert codec.digest({"a": {"b": 1, "c": 2}}) != codec.digest({"a": {"b": 2, "c": 1}})
    assert codec.digest({1: "mixed", "a": 2**70}) == codec.digest({1: "mixed", "a": 2**70})
    twice = Encrypted({"b": OLD}, codec)
    assert twice.digest("x") == twice.digest("x")
    assert twice.decode(twice.encode("x")) == "x"


@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_server_stores_and_publishes_no_plain_data(valkey_url: str, kind: str) -> None:
    namespace = f"crypt-{uuid4().hex}"
    codec = Encrypted({"2026": NEW})
    async with opened(kind, valkey_url, namespace=namespace, codec=codec) as hr:
        mail = hr.queue("mail")
        small, large = {"secret": "ada"}, {"secret": "ada" * 1000}
        ids = await got(mail.put_many([small, large]))
        leases = await got(mail.pop("w", count=2))
        assert [lease.data for lease in leases] == [small, large]
        await got(leases[0].heartbeat(data={"secret": "ada again"}))
        await got(leases[0].complete({"secret": "ada done"}))
        assert (await got(hr.result(ids[0]))).value == {"secret": "ada done"}
        feed = await got(hr.feed("news"))
        item = await got(feed.publish({"secret": "ada"}))
        assert await got(feed.item(item)) == {"secret": "ada"}
    clock = settable_clock()
    with headrace.connect(valkey_url, namespace=namespace, codec=Raw(), library=clock) as raw:
        assert all(b"secret" not in (event.data or b"") for event in raw.events())
        assert all(b"secret" not in job.payload for job in raw.jobs(ids))
        assert b"secret" not in raw.result(ids[0]).value


@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_unique_compares_decrypted_data(valkey_url: str, kind: str) -> None:
    namespace = f"crypt-{uuid4().hex}"
    codec = Encrypted({"2026": NEW})
    async with opened(kind, valkey_url, namespace=namespace, codec=codec, shards=4) as hr:
        mail = hr.queue("mail")
        first = await got(mail.put({"to": "ada"}, unique=True))
        with pytest.raises(headrace.JobExists) as refused:
            await got(mail.put({"to": "ada"}, unique=True))
        assert refused.value.job_id == first
        await got(mail.put_many([{"to": "bob"}, headrace.Put({"to": "eve"})], unique=True))
        with pytest.raises(headrace.JobExists):
            await got(mail.put_many([headrace.Put({"to": "eve"}, unique=True)]))
        replaced = await got(mail.put({"to": "ada"}, unique=True, on_exists="replace"))
        assert replaced == first


def test_finding_jobs_by_encrypted_data_is_refused(valkey_url: str) -> None:
    with connected(valkey_url, Encrypted({"a": NEW})) as hr:
        hr.queue("mail").put("x")
        mail = hr.queue("mail")
        for refused in (mail.matching, mail.cancel_matching):
            with pytest.raises(InvalidArgument, match="codec cannot find jobs by data"):
                refused("x")
        assert hr.queue("mail").counts().waiting == 1
