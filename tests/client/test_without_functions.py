"""If the server refuses functions, a client runs the library as a script, with equal results."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest
import redis

import headrace
from headrace import Client, ServerUnavailable
from tests.support import servers
from tests.support.channels import commands
from tests.support.clients import CLIENT_KINDS, got, listed, opened
from tests.support.functions import user_without, words_of
from tests.support.restartable import Restartable
from tests.support.servers import until

# How a server may refuse functions to a client that may put jobs.
REFUSALS = ("may not load", "may not call", "may only call read-only functions", "unknown command")


@pytest.fixture(params=REFUSALS)
def refusing(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a server that refuses functions to this user."""
    if request.param == "unknown command":
        with ExitStack() as running:
            port = servers.listen(running, None, *servers.WITHOUT_FUNCTIONS)
            yield f"redis://{servers.HOST}:{port}"
        return
    server = request.getfixturevalue("server")
    refused = {
        "may not load": ["function"],
        "may not call": ["fcall", "fcall_ro"],
        "may only call read-only functions": ["fcall"],
    }
    yield user_without(server.url, *refused[request.param])


async def put(hr: Any) -> list[object]:
    """Put four jobs."""
    queue = hr.queue("mail")
    return [
        await got(queue.put(1, id="a")),
        await got(queue.put(2, id="b", tags=["x"], priority=1)),
        await got(queue.put_many([headrace.Put(3, id="c"), headrace.Put(4, id="d", delay=60)])),
    ]


async def work(hr: Any) -> list[object]:
    """Pop the waiting jobs and give each another outcome; return what a client can see."""
    leases = await got(hr.queue("mail").pop("w", count=9))
    done = {lease.id: lease for lease in leases}
    return [
        [(lease.id, lease.data, lease.attempt) for lease in leases],
        await got(done["a"].complete("well")),
        await got(done["b"].fail("smtp", "busy")),
        await got(done["c"].release()),
        (await got(hr.result("a"))).value,
        *await reading(hr),
    ]


async def reading(hr: Any) -> list[object]:
    """Make read-only calls; return the answers."""
    queue = hr.queue("mail")
    return [
        [await got(hr.job(name)) for name in ("a", "b", "c", "d", "e")],
        await got(queue.counts()),
        await got(queue.jobs("waiting")),
        await got(queue.stats()),
        await got(queue.settings()),
        await got(hr.queues()),
        await got(hr.failures.counts()),
        await got(hr.failures.jobs("smtp")),
        await got(hr.failures.groups()),
        (await got(hr.tags.jobs("x"))).jobs,
        await got(hr.workers.list()),
        await got(hr.feeds.list()),
        await got(hr.schedules.list()),
        await got(hr.config.get()),
        [(event.kind, event.job_id) for event in await listed(hr.events())],
        await got(hr.audit()),
    ]


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_results_are_the_same_as_with_functions(
    client_kind: str, refusing: str, valkey_url: str
) -> None:
    results, namespace = [], uuid4().hex
    for url in (valkey_url, refusing):
        async with opened(client_kind, url, namespace=namespace) as hr:
            results.append([*await put(hr), *await work(hr)])
            assert hr.core.uses_scripts == (url == refusing)
    assert results[0] == results[1]


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
@pytest.mark.parametrize("loaded", [True, False])
async def test_new_client_of_a_full_server_gets_the_same_results(
    client_kind: str, server: Restartable, valkey_url: str, *, loaded: bool
) -> None:
    results, namespace = [], uuid4().hex
    for url in (valkey_url, server.url):
        async with opened(client_kind, url, namespace=namespace) as hr:
            await put(hr)
        if url == server.url:
            fill(url, flush=not loaded)
        with commands(url) as sent:
            async with opened(client_kind, url, namespace=namespace) as hr:
                results.append(await work(hr))
    assert results[0] == results[1]
    called = {word for word in words_of(sent) if "CALL" in word or "EVAL" in word}
    if loaded:
        assert called == {"FCALL", "FCALL_RO"}
    else:
        assert called >= {"EVALSHA", "EVALSHA_RO"}


def fill(url: str, *, flush: bool) -> None:
    """Fill the memory of a server. If `flush` is set, delete its functions first."""
    with redis.Redis.from_url(url) as admin:
        if flush:
            admin.function_flush()
        admin.config_set("maxmemory", "1")


async def test_concurrent_first_calls_fall_back_together(refusing: str) -> None:
    """When a task receives its refusal, another task has already switched to scripts."""
    async with opened("async", refusing, namespace="tasks") as hr:
        hr.core._scripts_until = 0.0
        ids = await asyncio.gather(*(hr.queue("mail").put(number) for number in range(50)))
        assert len(set(ids)) == 50
        assert (await hr.queue("mail").counts()).waiting == 50


async def test_concurrent_repeated_puts_on_a_full_server_fall_back_together(
    server: Restartable,
) -> None:
    async with opened("async", server.url, namespace="tasks") as hr:
        queue = hr.queue("mail")
        await queue.put_many([headrace.Put(0, id=str(number)) for number in range(50)])
        fill(server.url, flush=False)

        puts = [queue.put(0, id=str(number), on_exists="reject") for number in range(50)]
        found = await asyncio.gather(*puts, return_exceptions=True)

        assert {type(answer) for answer in found} == {headrace.JobExists}


def test_flushed_scripts_are_loaded_again(server: Restartable) -> None:
    with headrace.connect(user_without(server.url, "function")) as hr:
        hr.queue("mail").put(1)
        with redis.Redis.from_url(server.url) as admin:
            admin.script_flush()
        with commands(server.url) as sent:
            hr.queue("mail").put(2)
        assert words_of(sent) == ["EVALSHA", "SCRIPT LOAD", "EVALSHA"]
        assert hr.queue("mail").counts().waiting == 2


# replicas


@pytest.fixture(scope="module")
def replicated() -> Iterator[tuple[str, str]]:
    """The URLs of a primary and of its replica."""
    with ExitStack() as running:
        primary = servers.listen(running, None, "--repl-diskless-sync-delay", "0")
        replica = servers.listen(running, None, "--replicaof", f"{servers.HOST} {primary}")
        until(lambda: servers.is_online(replica), "the replica has its data")
        yield f"redis://{servers.HOST}:{primary}", f"redis://{servers.HOST}:{replica}"


def replicate(primary_url: str, *, loaded: bool) -> None:
    """Wait until the replica has all data. Unless `loaded` is set, delete all functions first."""
    with redis.Redis.from_url(primary_url) as primary:
        if not loaded:
            primary.function_flush()
        assert primary.wait(1, 10_000) == 1


@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
@pytest.mark.parametrize("loaded", [True, False])
async def test_reads_on_a_replica_give_the_same_results(
    client_kind: str, replicated: tuple[str, str], *, loaded: bool
) -> None:
    (primary_url, replica_url), namespace = replicated, uuid4().hex
    async with opened(client_kind, primary_url, namespace=namespace) as hr:
        await put(hr)
        await work(hr)
        expected = await reading(hr)
    replicate(primary_url, loaded=loaded)
    with commands(replica_url) as sent:
        async with opened(client_kind, replica_url, namespace=namespace, retry_for=0.2) as hr:
            assert await reading(hr) == expected

    called = {word for word in words_of(sent) if "CALL" in word or "EVAL" in word}
    assert called - {"FCALL_RO"} == (set() if loaded else {"EVALSHA_RO"})


@pytest.mark.parametrize("loaded", [True, False])
def test_replica_refuses_to_write(replicated: tuple[str, str], *, loaded: bool) -> None:
    (primary_url, replica_url), namespace = replicated, uuid4().hex
    with headrace.connect(primary_url, namespace=namespace) as hr:
        hr.queue("mail").put(1, id="a")
    replicate(primary_url, loaded=loaded)
    with headrace.connect(replica_url, namespace=namespace, retry_for=0.2) as hr:
        for change in writes(hr):
            with pytest.raises(ServerUnavailable, match="read only replica"):
                change()
        assert [job.id for job in hr.queue("mail").jobs("waiting").jobs] == ["a"]


def writes(hr: Client) -> list[Any]:
    queue = hr.queue("mail")
    return [lambda: queue.put(2), lambda: queue.pop("w"), lambda: hr.cancel("a"), hr.sweep]
