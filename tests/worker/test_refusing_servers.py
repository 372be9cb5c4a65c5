"""Workers wait for a server that refuses calls for a while, and drain a full server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.local_server.scratch import private_server
from tests.docs.support.pages import ROOT
from tests.support.refusals import BUSY, FULL, MISCONF, NOREPLICAS, READONLY, Refusal, refusing
from tests.support.servers import until
from tests.worker.support.site import Site, site_on
from tests.worker.support.verify import assert_done_once

WITH_CRON = """
from tests.worker.support.shop import app

@app.cron("0 0 1 1 *")
async def yearly() -> None: ...
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with private_server() as url, site_on(url, tmp_path) as found:
        yield found


@pytest.mark.parametrize("refusal", [MISCONF, NOREPLICAS, READONLY, BUSY], ids=str)
def test_jobs_that_run_while_the_server_refuses_calls_run_once(
    site: Site, refusal: Refusal
) -> None:
    work = site.work("-c", "8", "--session", "5")
    ended = site.put_many(4, "gate", name="during")
    held = site.put_many(4, "gate", name="after")
    site.wait_for_notes(8, "begun")
    with refusing(site.url, refusal):
        site.open_gate("during")
        site.wait_for_notes(4, "ended")
        until(lambda: "cannot renew sessions" in work.log(), "the supervisor has noticed")
    site.wait_for("complete", *ended)
    site.open_gate("after")
    site.wait_for("complete", *held)
    assert_done_once(site, [*ended, *held], "begun")
    assert "died" not in work.log()
    assert "Traceback" not in work.log()


@pytest.mark.parametrize("refusal", [MISCONF, NOREPLICAS, READONLY, BUSY], ids=str)
def test_worker_that_starts_while_the_server_refuses_calls_waits(
    site: Site, refusal: Refusal
) -> None:
    job_id = site.put("quick")
    with refusing(site.url, refusal):
        work = site.work()
        until(lambda: "waiting" in work.log() or "retrying" in work.log(), "the worker waits")
    site.wait_for("complete", job_id)
    assert "died" not in work.log()
    assert "Traceback" not in work.log()


def test_worker_with_cron_tasks_works_off_the_jobs_of_a_full_server(
    site: Site, tmp_path: Path
) -> None:
    (tmp_path / "crons.py").write_text(WITH_CRON)
    ids = [*site.put_many(20, "quick"), *site.put_many(20, "double", number=2)]
    with refusing(site.url, FULL):
        work = site.work(app="crons:app", cwd=tmp_path, PYTHONPATH=str(ROOT))
        site.wait_for("complete", *ids)
        assert "cannot update the schedules" in work.log()
    assert_done_once(site, ids)
    assert "cannot use the server" not in work.log()
