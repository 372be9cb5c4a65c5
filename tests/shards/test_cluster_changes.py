"""A Cluster changes while clients use it: shards move to other nodes, and a node dies."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

import headrace
from headrace import ServerUnavailable
from tests.support import servers
from tests.support.clients import CLIENT_KINDS, got, listed, opened
from tests.support.cluster_nodes import Nodes, slot
from tests.support.restartable import meanwhile
from tests.support.servers import until
from tests.support.shards import (
    SOON,
    is_listened_to,
    next_events,
    numbered_without_holes,
    one_for_each_shard,
    waiting_pop,
)

SHARDS = 8


@pytest.fixture
def nodes(cluster_url: str) -> Iterator[Nodes]:
    found = Nodes(cluster_url)
    yield found
    found.close()


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_client_continues_when_shards_move(kind: str, cluster_url: str, nodes: Nodes) -> None:
    name = f"moving-{kind}-{os.urandom(4).hex()}"
    async with opened(kind, cluster_url, namespace=name, shards=SHARDS) as hr:
        ids = await got(hr.queue("mail").put_many(range(80)))
        leases = await got(hr.queue("mail").pop("w", count=40))
        for shard in range(0, SHARDS, 2):
            nodes.move(slot(hr, shard))

        assert await got(hr.leases.complete(leases)) == ["complete"] * 40
        assert len(await got(hr.queue("mail").pop("w", count=80))) == 40
        assert (await got(hr.queue("mail").counts())).running == 40
        events = await listed(hr.events())
        assert sorted(event.job_id for event in events if event.kind == "put") == sorted(ids)
        assert (await got(hr.audit())).problems == []


@pytest.mark.usefixtures("form")
def test_calls_wait_while_a_shard_moves(cluster_url: str, nodes: Nodes) -> None:
    name = f"moving-{os.urandom(4).hex()}"
    with headrace.connect(cluster_url, namespace=name, shards=1) as hr:
        hr.queue("mail").put_many(range(300))

        with meanwhile(lambda: nodes.move(slot(hr, 0))):
            ids = [hr.queue("mail").put(number) for number in range(200)]

        assert len(set(ids)) == 200
        assert hr.queue("mail").counts().waiting == 500
        assert numbered_without_holes(hr)
        assert hr.audit().problems == []


@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_waiting_pop_is_woken_by_a_moved_shard(
    kind: str, cluster_url: str, nodes: Nodes
) -> None:
    name = f"moving-{kind}-{os.urandom(4).hex()}"
    with headrace.connect(cluster_url, namespace=name, shards=SHARDS) as calm:
        async with opened(kind, cluster_url, namespace=name, library=None) as hr:
            waiting = asyncio.ensure_future(waiting_pop(hr))
            await asyncio.to_thread(
                until, lambda: is_listened_to(calm, "queue", "mail"), "the pop waits"
            )
            nodes.move(slot(hr, 3))
            calm.queue("mail").counts()
            await asyncio.to_thread(
                until, lambda: is_listened_to(calm, "queue", "mail"), "the pop waits again"
            )
            began = time.monotonic()

            calm.queue("mail").put("x", id=one_for_each_shard(calm)[3])

            assert len(await waiting) == 1
            assert time.monotonic() - began < SOON


@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_listeners_follow_their_feed_to_another_node(
    kind: str, cluster_url: str, nodes: Nodes
) -> None:
    name = f"moving-{kind}-{os.urandom(4).hex()}"
    with headrace.connect(cluster_url, namespace=name, shards=SHARDS) as calm:
        news = calm.feeds.create("news")
        async with opened(kind, cluster_url, namespace=name, library=None) as hr:
            heard = await got((await got(hr.feed("news"))).listen(wait=20))
            all_heard = await got(hr.feeds.listen(wait=20))
            for number in range(3):
                nodes.move(slot(hr, hr.core.shard_of("news")))
                news.publish(number, id=str(number))
                for listening in (heard, all_heard):
                    [event] = await next_events(listening, 1)
                    assert (event.kind, event.id) in {("published", str(number)), ("missed", "")}
                    assert event.missed in {None, 1}
            await got(heard.close())
            await got(all_heard.close())


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_client_with_an_outdated_slot_map_finds_the_shards(
    kind: str, cluster_url: str, nodes: Nodes
) -> None:
    name = f"wrong-{kind}-{os.urandom(4).hex()}"
    async with opened(kind, cluster_url, namespace=name, shards=SHARDS) as hr:
        topology = hr.core.transport._topology
        right = list(topology._ranges)
        addresses = [address for _, _, address in right]
        topology._ranges = [
            (first, last, address)
            for (first, last, _), address in zip(right, addresses[1:] + addresses[:1], strict=True)
        ]

        await got(hr.queue("mail").put_many(range(80)))

        assert len(await got(hr.queue("mail").pop("w", count=80))) == 80
        for shard in range(SHARDS):
            assert topology.node_of(shard)[1] == nodes.of(slot(hr, shard))


@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_stale_redirect_does_not_mislead_the_client(
    kind: str, cluster_url: str, nodes: Nodes
) -> None:
    name = f"misled-{kind}-{os.urandom(4).hex()}"
    async with opened(kind, cluster_url, namespace=name, shards=1, retry_for=0.3) as hr:
        misled, wrong = (port for port in nodes.by_port if port != nodes.of(slot(hr, 0)))
        topology = hr.core.transport._topology
        topology._seeds = [("127.0.0.1", misled)]
        topology._ranges = [(0, 16383, ("127.0.0.1", misled))]
        nodes.mislead(misled, slot(hr, 0), wrong)
        await got(hr.core.transport.refresh())
        nodes.mislead(misled, slot(hr, 0), wrong)

        await got(hr.queue("mail").put("x"))

        assert (await got(hr.queue("mail").counts())).waiting == 1


@pytest.fixture
def mortal() -> Iterator[str]:
    """A Cluster whose nodes may be killed."""
    with servers.cluster() as url:
        yield url


@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_dead_node_is_reported_after_the_retry_time(kind: str, mortal: str) -> None:
    nodes = Nodes(mortal)
    async with opened(kind, mortal, shards=SHARDS, retry_for=0.5) as hr:
        await got(hr.queue("mail").put_many(range(80)))
        down = nodes.of(slot(hr, 0))
        alive = [shard for shard in range(SHARDS) if nodes.of(slot(hr, shard)) != down]
        assert alive
        nodes.kill(down)

        with pytest.raises(ServerUnavailable, match="did not answer in time") as away:
            await got(hr.queue("mail").counts())
        assert away.value.maybe_done is True
        began = time.monotonic()
        job_id = one_for_each_shard(hr)[0]
        with pytest.raises(ServerUnavailable) as away:
            await got(hr.queue("mail").put("x", id=job_id))
        assert away.value.maybe_done is False
        assert 0.15 < time.monotonic() - began < 5  # each pause varies by up to half

        leases = await popped_from_the_living(hr, alive[0])
        assert leases
        assert {hr.core.shard_of(lease.id) for lease in leases} <= set(alive)
    nodes.close()


async def popped_from_the_living(hr: Any, first: int) -> list[Any]:
    """Jobs that were popped before the client met a dead node are not lost."""
    hr.core.next_shard = first
    return cast(list[Any], await got(hr.queue("mail").pop("w", count=80)))
