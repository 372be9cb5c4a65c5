"""The sync and async classes have the same methods with readable signatures."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import headrace
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
from headrace.client.method_groups import AsyncFeeds, AsyncTracking, Feeds, Tracking

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
    """Return the signatures of the public methods of a class."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {
        name: str(inspect.signature(method)).replace("Async", "")
        for name, method in found
        if not name.startswith("_")
    }


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_sync_and_async_classes_have_equal_methods(pair: tuple[type, type]) -> None:
    sync, asyncio_form = pair

    assert offered(sync) == offered(asyncio_form)


@pytest.mark.parametrize("kind", [kind for pair in PAIRS for kind in pair])
def test_signatures_begin_with_self_and_show_results(kind: type) -> None:
    for name, signature in offered(kind).items():
        assert signature.startswith("(self"), name
        assert "Operation" not in signature, name
        assert "Like" not in signature, name


@pytest.mark.parametrize("kind", [asyncio_form for _, asyncio_form in PAIRS])
def test_async_methods_are_coroutines(kind: type) -> None:
    plain = {"queue", "events", "group"}
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") and name not in plain:
            assert inspect.iscoroutinefunction(method), name


@pytest.mark.parametrize(
    ("called", "call"),
    [
        ("Failures.cancel", lambda hr: hr.failures.cancel("x", pace="1/s")),
        ("Leases.complete", lambda hr: hr.leases.complete([], foo=1)),
        ("Queue.schedule", lambda hr: hr.queue("mail").schedule("s", 1, every=60, id="x")),
        ("Tags.add", lambda hr: hr.tags.add()),
        ("Tags.top", lambda hr: hr.tags.top(min=1)),
        ("Throttles.set", lambda hr: hr.throttles.set("x", limit=3)),
        ("Workers.end", lambda hr: hr.workers.end()),
    ],
)
def test_wrong_call_names_the_public_method(
    hr: Client, called: str, call: Callable[[Client], Any]
) -> None:
    with pytest.raises(TypeError, match=rf"^{re.escape(called)}\(\) "):
        call(hr)


async def test_wrong_async_call_names_the_public_method(valkey_url: str) -> None:
    async with await headrace.connect_async(valkey_url) as hr:
        with pytest.raises(TypeError, match=r"^AsyncClient\.why_waiting\(\) missing"):
            await hr.why_waiting()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"^Tags\.add\(\) missing"):
            await hr.tags.add()  # type: ignore[call-arg]


def test_method_has_the_signature_of_its_operation() -> None:
    assert str(inspect.signature(Queue.length)) == "(self) -> 'int'"
    assert str(inspect.signature(Lease.release)) == (
        "(self, *, position: 'str | None' = None, delay: 'Span' = 0) -> 'str'"
    )
