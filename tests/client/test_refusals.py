"""A client retries temporary errors of a running server and reports permanent ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import redis

import headrace
from headrace import ServerUnavailable
from headrace.local_server import server_process
from tests.support.clients import CLIENT_KINDS, got, listed, opened
from tests.support.proxy import Way, way_to
from tests.support.restartable import Restartable, meanwhile
from tests.support.servers import until


@pytest.fixture
def way(server: Restartable) -> Iterator[Way]:
    with way_to(server.url) as way:
        yield way


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_call_waits_for_a_loading_server(client_kind: str, server: Restartable) -> None:
    async with opened(client_kind, server.url, namespace="n") as hr:
        await got(hr.queue("mail").put_many(range(4000)))
        server.kill()
        slowly = ("--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024")
        seen: list[str] = []

        def load() -> None:
            starting = threading.Thread(target=server.start, args=slowly)
            starting.start()
            until(
                lambda: server_process.is_loading(server_process.ping(server.path)),
                "the server is loading",
            )
            seen.append("loading")
            starting.join()

        with meanwhile(load):
            until(lambda: seen == ["loading"], "the server is loading")
            assert (await got(hr.queue("mail").counts())).waiting == 4000


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_flushed_functions_are_loaded_again(client_kind: str, valkey_url: str) -> None:
    async with opened(client_kind, valkey_url, namespace=f"forgotten-{client_kind}") as hr:
        queue = hr.queue("mail")
        for number in range(3):
            with redis.Redis.from_url(valkey_url) as server:
                server.function_flush()
            await got(queue.put(number))
        [one, *_] = leases = await got(queue.pop("w", count=3))
        with redis.Redis.from_url(valkey_url) as server:
            server.function_flush()

        answers, _ = await got(queue.complete_and_pop(leases, "w"))

        assert answers == ["complete"] * 3
        assert one.attempt == 1
        kinds = [event.kind for event in await listed(hr.events())]
        assert kinds == ["put"] * 3 + ["popped"] * 3 + ["completed"] * 3


def test_loading_a_refused_library_ends(server: Restartable) -> None:
    with redis.Redis.from_url(server.url) as admin:
        admin.acl_setuser(
            "reader",
            enabled=True,
            passwords=["+secret"],
            keys=["*"],
            channels=["*"],
            commands=["+@all", "-function|load", "-script|load"],
        )
        admin.function_flush()
    url = server.url.replace("unix://", "unix://reader:secret@")

    with pytest.raises(ServerUnavailable, match="no permissions"):
        headrace.connect(url, retry_for=30)


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_waiting_call_without_permission_for_its_channel_fails_at_once(
    client_kind: str, server: Restartable
) -> None:
    async with opened(client_kind, server.url, namespace="n") as hr:
        job_id = await got(hr.queue("mail").put("x"))
    with redis.Redis.from_url(server.url) as admin:
        rights = ("on", ">secret", "~*", "+@all", "resetchannels", "&hr:{n:0}:queue:mail")
        admin.execute_command("ACL", "SETUSER", "deaf", *rights)
    url = server.url.replace("unix://", "unix://deaf:secret@")
    async with opened(client_kind, url, namespace="n") as hr:
        with pytest.raises(ServerUnavailable, match="lacks a permission"):
            await got(hr.result(job_id, wait=60))
        with pytest.raises(ServerUnavailable, match="lacks a permission"):
            await got(hr.queue("other").pop("w", wait=60))


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_call_waits_while_the_primary_is_a_replica(
    client_kind: str, server: Restartable
) -> None:
    async with opened(client_kind, server.url, namespace="n") as hr:
        await got(hr.queue("mail").put("x"))
        with redis.Redis.from_url(server.url) as admin:
            server_process.ask(server.path, "REPLICAOF", "127.0.0.1", "1")

            def promote() -> None:
                until(lambda: _refusals(admin) > 0, "the replica has refused a write")
                server_process.ask(server.path, "REPLICAOF", "NO", "ONE")

            with meanwhile(promote):
                await got(hr.queue("mail").put("y"))

        assert [event.kind for event in await listed(hr.events())] == ["put", "put"]


def _refusals(server: redis.Redis) -> int:
    found = server.info("errorstats")
    return int(found.get("errorstat_READONLY", {}).get("count", 0))


def test_call_waits_for_a_server_busy_with_another_script(server: Restartable, way: Way) -> None:
    with headrace.connect(way.url) as hr, redis.Redis.from_url(server.url) as admin:
        hr.queue("mail").put("x")
        admin.config_set("busy-reply-threshold", "1")

        def dawdle() -> None:
            killed = pytest.raises(redis.ResponseError, match="killed")
            with redis.Redis.from_url(server.url) as other, killed:
                other.eval("while true do end", 0)

        def end_it() -> None:
            puts = hr.core.library.operations["put"].function
            until(lambda: sum(puts in one for one in way.requests) > 3, "the put is tried again")
            admin.script_kill()

        with meanwhile(dawdle), meanwhile(end_it):
            until(lambda: _is_busy(admin), "the server is busy")
            hr.queue("mail").put("y")

        assert hr.queue("mail").counts().waiting == 2


def _is_busy(server: redis.Redis) -> bool:
    try:
        server.ping()
    except redis.ResponseError as error:
        return str(error).startswith("BUSY")
    return False


def test_server_out_of_memory_refuses_and_changes_nothing(server: Restartable) -> None:
    with headrace.connect(server.url) as hr, redis.Redis.from_url(server.url) as admin:
        hr.queue("mail").put("x", id="a")
        [lease] = hr.queue("mail").pop("w")
        admin.config_set("maxmemory", "1")

        with pytest.raises(ServerUnavailable, match="maxmemory"):
            hr.queue("mail").put("y")
        assert lease.release() == "waiting"

        admin.config_set("maxmemory", "0")
        assert hr.audit().problems == []
