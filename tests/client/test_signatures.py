"""Both colours offer the same, and say so themselves."""

from __future__ import annotations

import inspect

import pytest

from headrace import (
    AsyncClient,
    AsyncFeed,
    AsyncGroup,
    AsyncLease,
    AsyncListener,
    AsyncQueue,
    AsyncSession,
    AsyncWatch,
    Client,
    Feed,
    Group,
    Lease,
    Listener,
    Queue,
    Session,
    Watch,
)
from headrace.client.groups import AsyncFeeds, AsyncTracking, Feeds, Tracking

PAIRS: list[tuple[type, type]] = [
    (Client, AsyncClient),
    (Feeds, AsyncFeeds),
    (Tracking, AsyncTracking),
    (Feed, AsyncFeed),
    (Group, AsyncGroup),
    (Lease, AsyncLease),
    (Listener, AsyncListener),
    (Queue, AsyncQueue),
    (Session, AsyncSession),
    (Watch, AsyncWatch),
]


def offered(kind: type) -> dict[str, str]:
    """The public methods of a class, each as it is called and what it gives."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {
        name: str(inspect.signature(method)).replace("Async", "")
        for name, method in found
        if not name.startswith("_")
    }


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_both_colours_offer_the_same(pair: tuple[type, type]) -> None:
    blocking, awaiting = pair

    assert offered(blocking) == offered(awaiting)


@pytest.mark.parametrize("kind", [kind for pair in PAIRS for kind in pair])
def test_a_method_shows_that_it_is_one_and_what_it_gives(kind: type) -> None:
    for name, signature in offered(kind).items():
        assert signature.startswith("(self"), name
        assert "Talk" not in signature, name
        assert "Face" not in signature, name


@pytest.mark.parametrize("kind", [awaiting for _, awaiting in PAIRS])
def test_what_talks_to_the_server_is_awaited(kind: type) -> None:
    plain = {"queue", "events", "group"}
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") and name not in plain:
            assert inspect.iscoroutinefunction(method), name


def test_the_signature_is_the_one_it_was_written_with() -> None:
    assert str(inspect.signature(Queue.length)) == "(self) -> 'int'"
    assert str(inspect.signature(Lease.release)) == (
        "(self, *, position: 'str | None' = None, delay: 'Span' = 0) -> 'str'"
    )
