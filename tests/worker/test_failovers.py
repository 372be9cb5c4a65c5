"""Failovers and many restarts under workers that keep living cost no lease and no retry."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from tests.support import servers
from tests.support.cluster_nodes import Nodes, slot
from tests.support.restartable import restartable
from tests.support.servers import Sentinel, sentinel, until
from tests.worker.support.site import Site, site_on
from tests.worker.support.verify import assert_never_lost

SESSION = 1.0
AWAY_SECONDS = 2 * SESSION
RESTARTS, FAILOVERS = 100, 20
LONGEST_RESTART = 4.5
JOBS = 24


class HeldJobs:
    """Jobs that two workers run until the end of the test, and jobs that they run meanwhile."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._crew = [site.work("-c", "40", "--session", str(SESSION)) for _ in range(2)]
        until(lambda: all("working" in work.log() for work in self._crew), "all workers work")
        self._held = site.put_many(JOBS, "gate", name="later")
        site.wait_for_notes(JOBS, "begun")
        self._quick: list[str] = []

    def work_meanwhile(self) -> None:
        """Wait until the workers run new jobs."""
        self._quick += self._site.put_many(JOBS, "quick")
        self._site.wait_for("complete", *self._quick[-JOBS:])

    def finish(self) -> None:
        """Let the held jobs end; assert that no lease was lost."""
        self._site.open_gate("later")
        self._site.wait_for("complete", *self._held)
        assert_never_lost(self._site, self._held)
        assert_never_lost(self._site, self._quick, "ran")
        assert all("died" not in work.log() for work in self._crew)


def wait(seconds: float) -> None:
    """Wait for an outage of this length."""
    began = time.monotonic()
    until(lambda: time.monotonic() > began + seconds, f"{seconds:g} s have passed")


# Sentinel


def url_of(watched: Sentinel) -> str:
    return f"redis+sentinel://{watched.host}:{watched.port}/{watched.service}"


def is_replicated(watched: Sentinel) -> bool:
    """Return whether the replica has all that the primary has written."""
    with redis.Redis(watched.host, watched.primary) as primary:
        facts = primary.info("replication")
    return bool(facts.get("slave0") and facts["slave0"]["offset"] == facts["master_repl_offset"])


@pytest.mark.slow
def test_sentinel_failover_costs_no_job_and_no_retry(tmp_path: Path) -> None:
    with sentinel() as watched, site_on(url_of(watched), tmp_path) as site:
        jobs = HeldJobs(site)
        until(lambda: is_replicated(watched), "the replica has all data")
        watched.kill_primary()
        jobs.work_meanwhile()
        jobs.finish()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_many_sentinel_failovers_cost_no_job_and_no_retry(tmp_path: Path) -> None:
    with sentinel() as watched, site_on(url_of(watched), tmp_path) as site:
        jobs = HeldJobs(site)
        now = watched
        for _ in range(FAILOVERS):
            now = fail_over(now)
            jobs.work_meanwhile()
        jobs.finish()


def fail_over(watched: Sentinel) -> Sentinel:
    """Stop the primary until the replica is promoted; the old primary becomes the replica."""
    until(lambda: is_replicated(watched), "the replica has all data")
    pid = watched.primary_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        until(watched.has_promoted_replica, "the replica is the primary")
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: servers.is_online(watched.primary), "the old primary is a replica", 60)
    return replace(watched, primary=watched.replica, replica=watched.primary)


# Cluster


@contextmanager
def cluster_with_replica() -> Iterator[tuple[str, Nodes, ExitStack]]:
    with servers.cluster() as url, ExitStack() as running:
        nodes = Nodes(url)
        running.callback(nodes.close)
        yield url, nodes, running


def replace_first_node(site: Site, nodes: Nodes, running: ExitStack) -> None:
    """Kill the primary of the first shard, and let its replica take over after a while."""
    primary = nodes.of(slot(site.hr, 0))
    replica = nodes.add_replica(running, primary)
    gone = nodes.lose(primary)
    wait(AWAY_SECONDS)
    nodes.take_over(replica, gone)


@pytest.mark.slow
def test_cluster_failover_costs_no_job_and_no_retry(tmp_path: Path) -> None:
    with (
        cluster_with_replica() as (url, nodes, running),
        site_on(url, tmp_path, shards=6) as site,
    ):
        jobs = HeldJobs(site)
        replace_first_node(site, nodes, running)
        jobs.work_meanwhile()
        jobs.finish()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_many_cluster_failovers_cost_no_job_and_no_retry(tmp_path: Path) -> None:
    with (
        cluster_with_replica() as (url, nodes, running),
        site_on(url, tmp_path, shards=6) as site,
    ):
        jobs = HeldJobs(site)
        for _ in range(FAILOVERS):
            replace_first_node(site, nodes, running)
            jobs.work_meanwhile()
        jobs.finish()


# restarts


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shards", [1, 4])
def test_many_restarts_cost_no_job_and_no_retry(tmp_path: Path, shards: int) -> None:
    chance = random.Random(7)
    with restartable() as server, site_on(server.url, tmp_path, shards) as site:
        jobs = HeldJobs(site)
        for _ in range(RESTARTS // 2):
            back: Callable[[], None] = chance.choice([server.kill, server.stop])()
            wait(chance.uniform(0.1, LONGEST_RESTART))
            back()
            jobs.work_meanwhile()
        jobs.finish()
