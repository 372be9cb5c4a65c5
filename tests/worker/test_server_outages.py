"""Workers recover from server restarts, outages and broken connections."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest
import redis

from tests.support.functions import user_without
from tests.support.proxy import MOMENTS, way_to
from tests.support.restartable import Restartable, restartable
from tests.support.servers import until
from tests.worker.support.site import Site, site_on
from tests.worker.support.verify import assert_done_once, assert_never_lost

JOBS = 1500
RESTARTS = 3
SESSION = 0.5


def wait_for_share(site: Site, share: int) -> None:
    until(lambda: site.queue.counts().complete >= share, f"{share} jobs are complete", 60)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("shards", [1, 4])
def test_no_job_is_lost_when_the_server_restarts(shards: int, tmp_path: Path) -> None:
    with restartable() as server, site_on(server.url, tmp_path, shards) as site:
        ids = put_jobs(site)
        crew = [site.work("--processes", "2", "-c", "10", "--session", "5") for _ in range(2)]
        for number in range(1, RESTARTS + 1):
            wait_for_share(site, JOBS * number // (RESTARTS + 1))
            server.kill()
            server.start()
        wait_for_share(site, JOBS)
        assert_done_once(site, ids)
        assert all("died" not in work.log() for work in crew)


def put_jobs(site: Site) -> list[str]:
    chance = random.Random(5)
    tasks = ["brief", "brief_sync"]
    return site.queue.put_many(
        [
            {"task": chance.choice(tasks), "args": {"seconds": chance.uniform(0, 0.05)}}
            for _ in range(JOBS)
        ],
        retries=None,
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["killed", "stopped"])
def test_outage_longer_than_the_session_costs_no_job_and_no_retry(
    tmp_path: Path, kind: str
) -> None:
    with restartable() as server, site_on(server.url, tmp_path) as site:
        crew = [site.work("-c", "4", "--session", str(SESSION)) for _ in range(2)]
        ended = site.put_many(4, "gate", name="away")
        held = site.put_many(4, "gate", name="later")
        site.wait_for_notes(8, "begun")
        keep_server_away(site, server, kind)
        site.wait_for("complete", *ended)
        site.open_gate("later")
        site.wait_for("complete", *held)
        assert_never_lost(site, [*ended, *held])
        assert all("died" not in work.log() for work in crew)
        site.wait_for("complete", *site.put_many(20, "quick"))


def keep_server_away(site: Site, server: Restartable, kind: str) -> None:
    """Keep the server away until the workers have noticed and jobs have finished."""
    back = server.stop() if kind == "stopped" else server.kill()
    noticed = "cannot renew sessions"
    until(lambda: all(noticed in work.log() for work in site.every), "supervisors have noticed")
    site.open_gate("away")
    site.wait_for_notes(4, "ended")
    lapsed = time.monotonic() + 2 * SESSION
    until(lambda: time.monotonic() > lapsed, "the sessions have expired")
    back()
    until(lambda: all("answers again" in work.log() for work in site.every), "the server is back")


@pytest.mark.slow
@pytest.mark.parametrize("with_outcome", [True, False])
def test_stop_during_an_outage_does_not_wait_for_the_server(
    tmp_path: Path, *, with_outcome: bool
) -> None:
    with restartable() as server, site_on(server.url, tmp_path) as site:
        work = site.work("--session", str(SESSION))
        until(lambda: "working" in work.log(), "the worker works")
        if with_outcome:
            job_id = site.put("gate", name="away")
            site.wait_for_notes(1, "begun")
        server.kill()
        if with_outcome:
            site.open_gate("away")
            site.wait_for_notes(1, "ended")
        began = time.monotonic()

        work.signal(signal.SIGTERM)

        assert work.exit_code() == 0
        # The worker tries for 5 s to send an outcome, and for 1 s to get the reply to a pop.
        assert time.monotonic() - began < (10 if with_outcome else 6)
        server.start()
        if with_outcome:
            site.work()
            site.wait_for("complete", job_id)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_broken_connection_does_not_run_a_job_twice(
    valkey_url: str, tmp_path: Path, moment: str
) -> None:
    jobs, cuts = 300, 12
    with site_on(valkey_url, tmp_path) as site, way_to(valkey_url) as way:
        ids = site.queue.put_many([{"task": "brief", "args": {"seconds": 0.01}}] * jobs)
        for number in range(cuts):
            # The supervisor starts and renews sessions through the same proxy.
            way.lose("FCALL", moment, skip=10 + 7 * number)
        work = site.work("--processes", "2", "-c", "3", "--session", "5", url=way.url)
        wait_for_share(site, jobs)
        assert_done_once(site, ids)
        assert way.cuts == cuts
        assert "died" not in work.log()


@pytest.mark.parametrize("refused", [("function",), ("fcall", "fcall_ro")])
def test_worker_runs_scripts_if_the_server_refuses_functions(
    tmp_path: Path, refused: tuple[str, ...]
) -> None:
    with restartable() as server, site_on(server.url, tmp_path) as site:
        ids = site.put_many(20, "brief", seconds=0.001)
        with redis.Redis.from_url(server.url) as admin:
            admin.function_flush()
            work = site.work(url=user_without(server.url, *refused))
            # Until the worker runs scripts, the client of the test must make no call, because a
            # call would load the functions.
            until(
                lambda: "cmdstat_evalsha" in admin.info("commandstats"), "the worker runs scripts"
            )
        wait_for_share(site, 20)
        assert_done_once(site, ids)
        assert "died" not in work.log()


def test_worker_started_before_the_server_logs_that_it_waits(tmp_path: Path) -> None:
    with restartable() as server, site_on(server.url, tmp_path) as site:
        job_id = site.put("quick")
        server.kill()
        work = site.work()
        until(lambda: "does not answer yet" in work.log(), "the worker logs that it waits")
        server.start()
        site.wait_for("complete", job_id)
