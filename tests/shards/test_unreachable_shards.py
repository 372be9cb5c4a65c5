"""An unreachable shard of a Cluster stops neither the jobs nor the sessions of the other shards."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import servers
from tests.support.cluster_nodes import Nodes, slot
from tests.support.servers import until
from tests.support.shards import ids_by_shard
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
