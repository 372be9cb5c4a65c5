"""Listening outlives a server that is away."""

from __future__ import annotations

import asyncio

import pytest

from headrace import Client
from headrace.compat.thoonk import Thoonk
from headrace.compat.thoonk import notices as notices_module
from tests.dialects.thoonk.conftest import KINDS
from tests.dialects.thoonk.hearing import all_of
from tests.proof import proves
from tests.support.clients import CLIENT_KINDS, got, opened
from tests.support.proxy import Way
from tests.support.servers import until


@proves("T-71")
@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_who_was_away_is_told_how_many_changes_were_missed(
    colour: str, way: Way, valkey_url: str
) -> None:
    namespace = f"away-{id(way)}"
    async with opened(colour, way.url, namespace=namespace) as client:
        with Thoonk(valkey_url, namespace) as plain:
            listening = KINDS[colour](client, listen=True)
            if colour == "async":
                await listening.open()
            notices = await all_of(listening)
            way.close()
            plain.leaf("news").publish("item", "a")
            way.open()

            assert await notices.next(1) == [("missed", "", 2)]
            await got(listening.close())


@proves("T-71")
@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_listening_goes_on_when_the_server_is_back(
    colour: str,
    way: Way,
    valkey_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(notices_module, "PAUSE", 0.01)
    namespace = f"back-{id(way)}"
    async with opened(colour, way.url, namespace=namespace, retry_for=0.05) as client:
        with Thoonk(valkey_url, namespace) as plain:
            listening = KINDS[colour](client, listen=True)
            if colour == "async":
                await listening.open()
            notices = await all_of(listening)
            way.close()
            await asyncio.to_thread(until, lambda: "server is away" in caplog.text, "it is away")
            plain.leaf("news")
            way.open()

            assert await notices.next(1) == [("missed", "", 1)]
            await got(listening.close())


@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_listening_ends_with_the_client(colour: str, url: str, hr: Client) -> None:
    async with opened(colour, url, namespace=hr.core.namespace) as client:
        listening = KINDS[colour](client, listen=True)
        if colour == "async":
            await listening.open()
    if colour == "sync":
        await asyncio.to_thread(listening._listener._thread.join, 20)
        assert not listening._listener._thread.is_alive()
    else:
        await asyncio.wait_for(listening._listener._task, 20)
