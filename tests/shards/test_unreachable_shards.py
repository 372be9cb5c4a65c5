"""An unreachable shard of a Cluster stops neither the jobs nor the sessions of the other shards."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import headrace
from headrace import ServerUnavailable
from headrace.engine.call import build
from headrace.operations.requests import ask
from headrace.transport.drive import drive
from tests.proof import proves
from tests.support import servers
from tests.support.clients import CLIENT_KINDS, got, opened
from tests.support.cluster_nodes import Nodes, slot
from tests.support.servers import until
from tests.support.shards import ids_by_shard, one_for_each_shard, waiting_pop
from tests.worker.support.site import Site, site_on
from tests.worker.support.verify import assert_never_lost

SHARDS = 6
SESSION = 1.0
AWAY_SECONDS = 4.0
JOBS = 60


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[str]:
    """A Cluster that no other test uses, because these tests stop its nodes."""
    with servers.cluster() as url:
        yield url


@pytest.fixture
def nodes(own_cluster: str) -> Iterator[Nodes]:
    found = Nodes(own_cluster)
    yield found
    found.close()


@pytest.fixture
def site(own_cluster: str, tmp_path: Path) -> Iterator[Site]:
    with site_on(own_cluster, tmp_path, SHARDS) as found:
        yield found


@proves("WL-08")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stuck slot", "stopped node"])
def test_workers_run_the_jobs_of_the_other_shards(site: Site, nodes: Nodes, kind: str) -> None:
    crew = [site.work("-c", "100", "--session", str(SESSION)) for _ in range(2)]
    until(lambda: all("working" in work.log() for work in crew), "all workers work")
    held = site.put_many(JOBS, "gate", name="later")
    site.wait_for_notes(JOBS, "begun")
    with unreachable(site, nodes, kind) as away:
        began = time.monotonic()
        others = one_job_for_each_shard(site, away)
        until(lambda: finished(site, others), "the jobs of the other shards have run", AWAY_SECONDS)
        until(lambda: time.monotonic() > began + AWAY_SECONDS, "the sessions would have expired")
    site.wait_for("complete", *site.put_many(JOBS, "quick"))
    site.open_gate("later")
    site.wait_for("complete", *held)
    assert_never_lost(site, held)
    assert_never_lost(site, others, "ran")
    assert all("refused" not in work.log() for work in crew)


@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_pop_returns_the_jobs_of_the_other_shards(
    kind: str, own_cluster: str, nodes: Nodes
) -> None:
    name = f"stuck-{kind}-{os.urandom(4).hex()}"
    with headrace.connect(own_cluster, namespace=name, shards=SHARDS) as calm:
        ids = one_for_each_shard(calm)
        async with opened(kind, own_cluster, namespace=name, library=None, retry_for=1) as hr:
            calm.queue("mail").put_many([headrace.Put(1, id=job_id) for job_id in ids])
            back = nodes.stick(slot(calm, 0))
            try:
                leases = await got(hr.queue("mail").pop("w", count=SHARDS))
                assert {lease.id for lease in leases} == set(ids[1:])
                waiting = asyncio.ensure_future(waiting_pop(hr))
                await asyncio.sleep(0)
                calm.queue("mail").put(2, id=f"{{{ids[3]}}}")
                assert [lease.id for lease in await waiting] == [f"{{{ids[3]}}}"]
                with pytest.raises(ServerUnavailable):
                    await got(hr.queue("mail").pop("w", count=SHARDS))
            finally:
                back()
            assert [lease.id for lease in await got(hr.queue("mail").pop("w"))] == ids[:1]


@proves("WL-08")
async def test_session_that_ended_on_one_shard_starts_again_on_that_shard_alone(
    own_cluster: str,
) -> None:
    name = f"session-{os.urandom(4).hex()}"
    with headrace.connect(own_cluster, namespace=name, shards=SHARDS) as hr:
        queue = hr.queue("mail")
        queue.configure("task")
        session = hr.session("w")
        session.serve("mail")
        ids = one_for_each_shard(hr)
        queue.put_many([headrace.Put(1, id=job_id) for job_id in ids])
        leases = queue.pop("w", count=SHARDS, lease=math.inf)
        end = build("session_end", int, worker="w", token="")
        assert drive(hr.core.transport, ask(hr.core, [(2, end)])) == [1]

        assert session.renew() == 3

        [returned] = queue.pop("w", count=SHARDS, lease=math.inf)
        assert returned.id == ids[2]
        held = [lease for lease in leases if lease.id != returned.id]
        assert hr.leases.complete([*held, returned]) == ["complete"] * SHARDS


@contextmanager
def unreachable(site: Site, nodes: Nodes, kind: str) -> Iterator[set[int]]:
    """Make shards unreachable in a block; yield these shards."""
    port = nodes.of(slot(site.hr, 0))
    away = {0}
    if kind == "stopped node":
        away = {shard for shard in range(SHARDS) if nodes.of(slot(site.hr, shard)) == port}
    back = nodes.stop(port) if kind == "stopped node" else nodes.stick(slot(site.hr, 0))
    try:
        yield away
    finally:
        back()


def one_job_for_each_shard(site: Site, away: set[int]) -> list[str]:
    """Put a job on every reachable shard."""
    found = ids_by_shard(site.hr, (f"job-{number}" for number in range(200)))
    data = {"task": "brief", "args": {"seconds": 0}}
    return [site.queue.put(data, id=ids[0]) for shard, ids in found.items() if shard not in away]


def finished(site: Site, ids: list[str]) -> bool:
    return {note.id for note in site.notes("ran")} >= set(ids)
