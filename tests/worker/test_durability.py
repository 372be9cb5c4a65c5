"""A worker of an app with `durability=` waits until the outcomes of its jobs are durable."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import redis

from headrace import App, NotDurable
from headrace.local_server.scratch import private_server
from tests.support.servers import until as until_now
from tests.worker.support.in_process import at_work, until
from tests.worker.support.site import Site, site_on


@pytest.fixture(scope="module")
def aof_url() -> Iterator[str]:
    with private_server("--appendonly", "yes", "--appendfsync", "always") as url:
        yield url


def waits(url: str) -> int:
    with redis.Redis.from_url(url) as admin:
        return int(admin.info("commandstats").get("cmdstat_waitaof", {}).get("calls", 0))


def test_outcomes_wait_for_the_append_only_file(aof_url: str, tmp_path: Path) -> None:
    with site_on(aof_url, tmp_path) as site:
        site.work(SHOP_DURABLE="1")
        before = waits(aof_url)
        for _ in range(3):
            site.wait_for("complete", site.put("quick"))
        assert waits(aof_url) >= before + 3


def test_server_that_cannot_confirm_outcomes_is_named_in_the_log(site: Site) -> None:
    work = site.work(SHOP_DURABLE="1")
    job_id = site.put("quick")

    until_now(lambda: "set appendonly yes" in work.log(), "the worker logs the missing setting")
    assert site.job(job_id).state == "waiting"
    assert "Traceback" not in work.log()


async def test_unconfirmed_outcome_counts_and_is_logged(
    valkey_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = App(f"test-{uuid4().hex[:12]}", url=valkey_url, durability=1)
    ran: list[int] = []

    @app.task(queue="mail")
    async def send(n: int) -> None:
        ran.append(n)

    app.client.core.timeout = 0.1
    with pytest.raises(NotDurable) as unsure:
        send.put(n=0)
    send.options(durability=0).put(n=1)
    with caplog.at_level(logging.WARNING, "headrace"):
        async with at_work(app, "mail") as (_, client):
            client.core.timeout = 0.1

            async def all_complete() -> bool:
                return (await client.queue("mail").counts()).complete == 2

            await until(all_complete)
    assert ran == [0, 1]
    assert app.client.job(unsure.value.result).attempt == 1  # type: ignore[union-attr]
    [warning, *_] = [record for record in caplog.records if "durable" in record.message]
    assert "0 of 1 replicas" in str(warning.__dict__)
    app.close()
