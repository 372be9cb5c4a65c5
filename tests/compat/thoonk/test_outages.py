"""Listening continues after the server was unavailable."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace
from headrace import Client
from headrace.compat.thoonk import Thoonk, handlers
from tests.compat.thoonk.support.recorded import all_of
from tests.proof import proves
from tests.support.proxy import Way, way_to
from tests.support.servers import until


@pytest.fixture
def way(valkey_url: str) -> Iterator[Way]:
    with way_to(valkey_url) as found:
        yield found


@proves("T-71")
def test_listener_is_told_how_many_changes_it_missed(way: Way, valkey_url: str) -> None:
    namespace = f"away-{id(way)}"
    with (
        headrace.connect(way.url, namespace=namespace) as client,
        Thoonk(client, listen=True) as listening,
        Thoonk(valkey_url, namespace) as plain,
    ):
        notices = all_of(listening)
        way.close()
        plain.leaf("news").publish("item", "a")
        way.open()

        assert notices.next(1) == [("missed", "", 2)]


@proves("T-71")
def test_listening_continues_when_the_server_is_back(
    way: Way, valkey_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(handlers, "RETRY_AFTER", 0.01)
    namespace = f"back-{id(way)}"
    with (
        headrace.connect(way.url, namespace=namespace, retry_for=0.05) as client,
        Thoonk(client, listen=True) as listening,
        Thoonk(valkey_url, namespace) as plain,
    ):
        notices = all_of(listening)
        way.close()
        until(lambda: "server unavailable" in caplog.text, "the listener notices the outage")
        plain.leaf("news")
        way.open()

        assert notices.next(1) == [("missed", "", 1)]


def test_listening_ends_when_the_client_closes(url: str, hr: Client) -> None:
    with headrace.connect(url, namespace=hr.core.namespace) as client:
        listening = Thoonk(client, listen=True)

    assert listening._listener is not None
    listening._listener._thread.join(20)
    assert not listening._listener._thread.is_alive()
