"""A client survives a short outage and reports a long one."""

from __future__ import annotations

import time

import pytest
import redis

import headrace
from headrace import ServerUnavailable
from headrace.testing import open_with_clock
from tests.support.clients import CLIENT_KINDS, got, listed, opened
from tests.support.functions import has_library
from tests.support.proxy import Way
from tests.support.repeats import mark
from tests.support.restartable import Restartable, meanwhile
from tests.support.servers import until


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_client_survives_a_restart_of_the_server(
    client_kind: str, form: str, server: Restartable
) -> None:
    async with opened(client_kind, server.url, namespace="n") as hr:
        await got(hr.queue("mail").put("x", id="a"))
        [lease] = await got(hr.queue("mail").pop("w"))
        server.kill()

        with meanwhile(server.start):
            assert await got(lease.complete("well")) == "complete"

        assert hr.core.uses_scripts == (form == "script")
        assert (await got(hr.result("a"))).value == "well"
        kinds = [event.kind for event in await listed(hr.events())]
        assert kinds == ["put", "popped", "completed"]
        assert (await got(hr.audit())).problems == []


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_client_survives_a_restart_without_persistence(
    client_kind: str, form: str, server: Restartable
) -> None:
    async with opened(client_kind, server.url, namespace="n") as hr:
        await got(hr.queue("mail").put("lost"))
        server.kill()

        with meanwhile(lambda: server.start("--appendonly", "no")):
            await got(hr.queue("mail").put("x", id="a"))

        with redis.Redis.from_url(server.url) as admin:
            assert has_library(admin, form, hr.core.library)
        [lease] = await got(hr.queue("mail").pop("w", count=2))
        assert (lease.data, await got(lease.complete("well"))) == ("x", "complete")
        assert (await got(hr.result("a"))).value == "well"
        assert (await got(hr.audit())).problems == []


@pytest.mark.usefixtures("form")
def test_waiting_pop_survives_a_restart_of_the_server(server: Restartable) -> None:
    with headrace.connect(server.url) as hr, headrace.connect(server.url) as other:

        def restart_and_put() -> None:
            until(lambda: _listeners(server.url) == 1, "a pop waits")
            server.kill()
            server.start()
            until(lambda: _listeners(server.url) == 1, "a pop waits again")
            other.queue("mail").put("x", id="a")

        with meanwhile(restart_and_put):
            [lease] = hr.queue("mail").pop("w", wait=30)

        assert lease.id == "a"
        assert lease.complete() == "complete"


def _listeners(url: str) -> int:
    with redis.Redis.from_url(url) as server:
        found = server.client_list()
        return sum(int(client["ssub"]) > 0 for client in found)


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_unreachable_server_means_nothing_was_done(client_kind: str, way: Way) -> None:
    async with opened(client_kind, way.url, namespace=f"away-{client_kind}", retry_for=0.3) as hr:
        way.close()
        with pytest.raises(ServerUnavailable):
            await got(hr.queue("mail").counts())
        began = time.monotonic()

        with pytest.raises(ServerUnavailable, match="Nothing was changed") as refused:
            await got(hr.queue("mail").put("x"))

        assert refused.value.maybe_done is False
        assert 0.1 < time.monotonic() - began < 5
        way.open()
        assert await got(hr.queue("mail").counts())


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_connection_lost_during_a_call_means_maybe_done(client_kind: str, way: Way) -> None:
    async with opened(client_kind, way.url, namespace=f"away-{client_kind}", retry_for=0.3) as hr:
        await got(hr.queue("mail").put("x"))
        way.lose(mark(hr, "put"), "before the answer", meanwhile=way.close)

        with pytest.raises(ServerUnavailable, match="may have been carried out") as refused:
            await got(hr.queue("mail").put("y"))

        assert refused.value.maybe_done is True
        way.open()
        assert (await got(hr.queue("mail").counts())).waiting == 2


def test_connection_lost_between_batches_means_maybe_done(way: Way) -> None:
    hr, _ = open_with_clock(way.url, retry_for=0.3)
    with hr:
        way.lose(mark(hr, "put"), "before the request", skip=2, meanwhile=way.close)

        with pytest.raises(ServerUnavailable) as refused:
            hr.queue("mail").put_many(range(600))

        assert refused.value.maybe_done is True
        way.open()
        assert 0 < hr.queue("mail").counts().waiting < 600


def test_events_can_be_followed_with_a_short_timeout(server: Restartable) -> None:
    with (
        headrace.connect(server.url, timeout=0.2, retry_for=0.3) as hr,
        redis.Redis.from_url(server.url) as admin,
    ):
        seen = hr.events(follow=True)
        hr.queue("mail").put("x")
        assert next(seen).kind == "put"

        def put_late() -> None:
            # Each request waits for at most half of the timeout. All requests together take
            # longer than the timeout.
            until(lambda: _looks(admin) > 8, "the client has polled many times")
            with headrace.connect(server.url) as other:
                other.queue("mail").put("y")

        with meanwhile(put_late):
            assert next(seen).kind == "put"


def _looks(server: redis.Redis) -> int:
    return int(server.info("commandstats").get("cmdstat_xread", {}).get("calls", 0))
