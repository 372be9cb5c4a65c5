"""Nodes of a Cluster that do not have the library: a client loads it on each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest

import headrace
from headrace.engine.script import LIBRARY
from tests.support import servers
from tests.support.clients import CLIENT_KINDS, got, opened
from tests.support.cluster_nodes import Nodes, slot
from tests.support.functions import forget_library, has_library, load_scripts
from tests.support.shards import numbered_without_holes

SHARDS = 8
JOBS = 80
# It takes seconds to start a Cluster.
FORMS_OF_OWN_CLUSTERS = ["function", pytest.param("script", marks=pytest.mark.long)]


@pytest.fixture
def own() -> Iterator[str]:
    """The URL of a Cluster of the test's own."""
    with servers.cluster() as url:
        yield url


@pytest.fixture
def nodes(request: pytest.FixtureRequest) -> Iterator[Nodes]:
    name = "own" if "own" in request.fixturenames else "cluster_url"
    found = Nodes(request.getfixturevalue(name))
    yield found
    found.close()


async def work_on_all_shards(hr: Any) -> None:
    """Put jobs on every shard, and complete them."""
    ids = await got(hr.queue("mail").put_many(range(JOBS)))
    assert {hr.core.shard_of(job_id) for job_id in ids} == set(range(SHARDS))
    leases = await got(hr.queue("mail").pop("w", count=JOBS))
    assert sorted(lease.id for lease in leases) == sorted(ids)
    assert await got(hr.leases.complete(leases)) == ["complete"] * JOBS
    assert (await got(hr.queue("mail").counts())).running == 0
    assert (await got(hr.audit())).problems == []


@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_library_is_loaded_on_every_primary(
    kind: str, form: str, cluster_url: str, nodes: Nodes
) -> None:
    options = {"namespace": uuid4().hex, "shards": SHARDS, "library": LIBRARY}
    async with opened(kind, cluster_url, **options) as hr:
        for _ in range(2):
            for port in nodes.by_port:
                forget_library(nodes.by_port[port])
            await work_on_all_shards(hr)
            assert all(has_library(nodes.by_port[port], form) for port in nodes.by_port)
        assert hr.core.uses_scripts == (form == "script")


@pytest.mark.parametrize("form", FORMS_OF_OWN_CLUSTERS, indirect=True)
async def test_library_is_loaded_on_a_node_that_joins(form: str, own: str, nodes: Nodes) -> None:
    with ExitStack() as running, headrace.connect(own, shards=SHARDS) as hr:
        async with opened("async", own, library=LIBRARY) as other:
            await work_on_all_shards(hr)
            new = nodes.add(running)
            for shard in (0, 3):
                nodes.move(slot(hr, shard), new)
            assert not has_library(nodes.by_port[new], form)

            for client in (hr, other):
                await work_on_all_shards(client)
                assert has_library(nodes.by_port[new], form)
                forget_library(nodes.by_port[new])
        assert [nodes.of(slot(hr, shard)) for shard in (0, 3)] == [new, new]
        assert numbered_without_holes(hr)


@pytest.mark.parametrize("form", FORMS_OF_OWN_CLUSTERS, indirect=True)
@pytest.mark.parametrize("replica_has_library", [pytest.param(True, marks=pytest.mark.long), False])
async def test_calls_continue_after_a_failover(
    form: str, own: str, nodes: Nodes, *, replica_has_library: bool
) -> None:
    with ExitStack() as running, headrace.connect(own, shards=SHARDS, retry_for=30) as hr:
        async with opened("async", own, library=LIBRARY, retry_for=30) as other:
            await work_on_all_shards(hr)
            primary = nodes.of(slot(hr, 0))
            replica = nodes.add_replica(running, primary)
            if not replica_has_library:
                forget_library(nodes.by_port[replica])
            elif form == "script":
                load_scripts(nodes.by_port[replica])
            assert has_library(nodes.by_port[replica], form) == replica_has_library
            assert nodes.by_port[primary].wait(1, 10_000) == 1

            nodes.replace(primary, replica)

            for client in (hr, other):
                await work_on_all_shards(client)
            assert has_library(nodes.by_port[replica], form)
            assert nodes.of(slot(hr, 0)) == replica
        assert numbered_without_holes(hr)
