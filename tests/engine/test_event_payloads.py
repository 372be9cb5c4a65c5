"""Events of operations that change the payload of a job contain the new payload."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headrace import Client
from headrace.client.lease import Lease
from headrace.engine.events import read_event
from headrace.testing import open_with_clock

DEEDS: dict[str, Callable[[Lease, bytes], object]] = {
    "completed": lambda lease, data: lease.complete(data=data),
    "moved on": lambda lease, data: lease.complete(next="archive", data=data),
    "failed": lambda lease, data: lease.fail("io", data=data),
    "retried": lambda lease, data: lease.fail("io", retry_in=5, data=data),
    "updated": lambda lease, data: lease.heartbeat(data=data),
}
PLAIN: dict[str, Callable[[Lease], object]] = {
    "completed": lambda lease: lease.complete(),
    "moved on": lambda lease: lease.complete(next="archive"),
    "failed": lambda lease: lease.fail("io"),
    "retried": lambda lease: lease.fail("io", retry_in=5),
    "renewed": lambda lease: lease.heartbeat(),
    "the same": lambda lease: lease.heartbeat(data=b"old"),
}


@pytest.fixture
def raw(url: str) -> Iterator[Client]:
    client, _ = open_with_clock(url, codec="raw")
    with client:
        yield client


def held(raw: Client) -> Lease:
    mail = raw.queue("mail")
    mail.put(b"old", id="x")
    [lease] = mail.pop("w")
    return lease


@pytest.mark.parametrize("kind", DEEDS)
def test_event_has_the_new_data_or_their_size(raw: Client, kind: str) -> None:
    told = {
        b"new \xff\x00": (b"new \xff\x00", None),
        b"x" * 16_384: (b"x" * 16_384, None),
        b"x" * 16_385: (None, 16_385),
        b"": (b"", 0),
    }
    for data, expected in told.items():
        DEEDS[kind](held(raw), data)

        event = [*raw.events()][-1]
        assert event.kind == ("completed" if kind == "moved on" else kind)
        assert (event.data, event.left_out) == expected
        raw.cancel("x")


@pytest.mark.parametrize("kind", PLAIN)
def test_event_without_changed_data_has_none(raw: Client, kind: str) -> None:
    PLAIN[kind](held(raw))

    assert [(event.data, event.left_out) for event in raw.events()][1:] in (
        [(None, None)],
        [(None, None)] * 2,
    )


def test_event_of_an_unknown_kind_may_have_no_data() -> None:
    words = [b"kind", b"of tomorrow", b"id", b"x", b"queue", b"mail", b"attempt", b"0"]
    words += [b"worker", b"", b"priority", b"0"]

    assert read_event(0, b"5-1", words).data is None


def test_requeue_event_has_the_size_even_of_an_empty_payload(raw: Client) -> None:
    for data, told in ((b"old", (None, 3)), (b"", (b"", 0))):
        raw.queue("mail").put(data, id="x")
        raw.requeue("x")

        event = [*raw.events()][-1]
        assert (event.kind, event.data, event.left_out) == ("put", *told)
        raw.cancel("x")
