"""Codecs encode and decode data; limits bound the sizes."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

import headrace
from headrace import InvalidArgument, Limits


def fresh() -> str:
    return f"codec-{uuid4().hex}"


@pytest.mark.parametrize(
    ("codec", "value"),
    [
        ("json", {"a": [1, 2.5, None, True, "é😀"], "empty": [], "big": 2**70}),
        ("msgpack", {"a": b"\0\xff", "n": float("inf"), "t": [1, [2]], "none": None}),
        ("raw", b"\0\xff\n"),
    ],
)
def test_data_and_results_survive_every_codec(valkey_url: str, codec: str, value: Any) -> None:
    with headrace.connect(valkey_url, namespace=fresh(), codec=codec) as hr:
        job_id = hr.queue("mail").put(value)
        [lease] = hr.queue("mail").pop("w")
        assert lease.data == value
        lease.complete(value)
        found = hr.result(job_id)
        assert (found.value, found.data) == (value, value)


class Upper:
    """A custom codec."""

    def encode(self, value: Any) -> bytes:
        return str(value).upper().encode()

    def decode(self, payload: bytes) -> Any:
        return payload.decode().lower()


def test_custom_codec_is_used(valkey_url: str) -> None:
    with headrace.connect(valkey_url, namespace=fresh(), codec=Upper()) as hr:
        hr.queue("mail").put("hello")
        [lease] = hr.queue("mail").pop("w")
        assert (lease.payload, lease.data) == (b"HELLO", "hello")


@pytest.mark.parametrize(
    ("codec", "value"),
    [
        *[("json", value) for value in (object(), {None: 1}, float("nan"), "\ud800")],
        *[("msgpack", value) for value in (object(), 2**64, "\ud800")],
        *[("raw", value) for value in ("text", None, 5, [b"x"])],
    ],
)
def test_unencodable_data_are_refused(valkey_url: str, codec: str, value: Any) -> None:
    with headrace.connect(valkey_url, namespace=fresh(), codec=codec) as hr:
        with pytest.raises(InvalidArgument, match=codec if codec != "json" else "JSON"):
            hr.queue("mail").put(value)
        assert hr.queues() == {}


def test_custom_limits_are_enforced(valkey_url: str) -> None:
    limits = Limits(payload=100, name=50, tags=2, message=60, batch=10)
    with headrace.connect(valkey_url, namespace=fresh(), limits=limits) as hr:
        queue = hr.queue("mail")
        assert len(set(queue.put_many(["x" * 98] * 35, tags=["a", "b"]))) == 35
        [lease] = queue.pop("w")
        for refused in (
            lambda: queue.put("x" * 99),
            lambda: queue.put("x", id="x" * 51),
            lambda: queue.put("x", tags=["a", "b", "c"]),
            lambda: lease.heartbeat(data="x" * 99),
            lambda: lease.complete("x" * 99),
        ):
            with pytest.raises(InvalidArgument, match=r"may have|at most"):
                refused()
        lease.fail("boom", "é" * 60)
        [job] = hr.jobs([lease.id])
        assert job.failure is not None
        assert job.failure.message == "é" * 28 + " ..."
        assert [event.kind for event in hr.events()].count("put") == 35


@pytest.mark.parametrize("limit", [{"payload": -1}, {"name": 5}, {"batch": 0}, {"tags": "x"}])
def test_invalid_limits_are_refused(limit: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        Limits(**limit)
