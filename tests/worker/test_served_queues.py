"""The order in which queues are served, cron tasks, and recycled processes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.interrupted_write import was_long_ago, write_and_die
from tests.support.servers import until
from tests.worker.support.site import Site, site_on
from tests.worker.support.verify import assert_done_once

CLOCKWORK = """
import os
from headrace import App

app = App(os.environ["SHOP_NAME"])


@app.cron("* * * * *")
async def tick() -> None: ...
"""


def wait_until_idle(site: Site, *queues: str) -> None:
    until(
        lambda: all(site.hr.queue(q).counts().length == 0 for q in queues),
        "all queues are empty",
        30,
    )


def queues_in_run_order(site: Site, ids_by_queue: dict[str, list[str]]) -> list[str]:
    """Return the queues of the jobs in the order in which the jobs ran."""
    queue_of = {job_id: queue for queue, ids in ids_by_queue.items() for job_id in ids}
    return [queue_of[note.id] for note in site.notes("ran")]


def test_queues_are_served_in_strict_order(site: Site) -> None:
    ids = {name: site.put_many(50, "quick", queue=name) for name in ("low", "mail", "high")}
    site.work("-q", "high,mail,low", "-c", "1")
    wait_until_idle(site, *ids)
    assert queues_in_run_order(site, ids) == ["high"] * 50 + ["mail"] * 50 + ["low"] * 50


@pytest.mark.parametrize("shards", [1, 4])
def test_queues_are_served_by_weight(valkey_url: str, tmp_path: Path, shards: int) -> None:
    with site_on(valkey_url, tmp_path, shards) as site:
        ids = {name: site.put_many(600, "brief", queue=name, seconds=0.003) for name in ("a", "b")}
        site.work("-q", "a:3,b:1", "-c", "1")
        wait_until_idle(site, *ids)
        # While both queues have jobs, queue a is served three times as often as queue b.
        first = Counter(queues_in_run_order(site, ids)[:600])
        assert 0.55 < first["a"] / 600 < 0.92


def test_worker_finishes_spark_writes_of_dead_drivers(valkey_url: str, tmp_path: Path) -> None:
    with site_on(valkey_url, tmp_path, shards=3) as site:
        rows = [(f"job{n}", b'{"task": "quick", "args": {}}') for n in range(12)]
        write_and_die(site.hr, rows, queue="default")
        was_long_ago(site.hr)
        work = site.work("-q", "default")

        message = "finished a Spark write that its driver left unfinished write=w rows=12"
        until(lambda: message in work.log(), "the write is finished", 30)

        site.wait_for("complete", *(name for name, _ in rows))
        written = site.hr.writes.get("w")
        assert written is not None
        assert (written.made, written.lost, written.published_at is None) == (12, {}, False)


def test_paused_queue_is_not_served_until_it_is_resumed(site: Site) -> None:
    site.hr.queue("mail").configure(paused=True)
    held = site.put_many(5, "quick", queue="mail")
    site.work("-q", "mail,default")
    site.wait_for("complete", *site.put_many(20, "quick"))
    assert {job.state for job in site.hr.jobs(held)} == {"waiting"}
    site.hr.queue("mail").configure(paused=False)
    site.wait_for("complete", *held)


def test_queue_that_requires_sessions_is_served_again_after_its_sessions_ended(site: Site) -> None:
    queue = site.hr.queue("jobs")
    queue.configure("task", keep_count=1000)
    ids = site.put_many(30, "quick", queue="jobs") + site.put_many(5, "sync", queue="jobs")
    site.work("-q", "jobs", "--processes", "2")
    site.wait_for("complete", *ids)
    assert_done_once(site, ids)
    # After the sessions were ended, new ones serve the queue again.
    for worker in site.hr.workers.list():
        site.hr.workers.end(worker.name)
    more = site.put_many(30, "quick", queue="jobs")
    site.wait_for("complete", *more)
    assert_done_once(site, more)


@pytest.mark.parametrize("profile", ["fifo", "manual", "ring"])
def test_queues_without_sessions_are_served(site: Site, profile: str) -> None:
    site.hr.queue("line").configure(profile)
    ids = site.put_many(30, "quick", queue="line")
    work = site.work("-q", "line", "--processes", "2", "--verbose")
    site.wait_for_notes(30, "ran")
    wait_until_idle(site, "line")
    assert sorted(note.id for note in site.notes("ran")) == sorted(ids)
    assert "refused" not in work.log()


@pytest.mark.parametrize("options", [("--max-jobs", "20"), ("--max-memory", "1")])
def test_process_is_recycled_after_max_jobs_or_max_memory(
    site: Site, options: tuple[str, str]
) -> None:
    work = site.work("-c", "4", *options)
    held = site.put("gate", name="held")
    ids = site.put_many(60, "quick")
    site.wait_for("complete", *ids)
    until(lambda: "recycling" in work.log(), "the process is being recycled")
    [before] = {note.pid for note in site.notes("begun")}
    assert before in work.processes()
    site.open_gate("held")
    site.wait_for("complete", held)
    until(lambda: work.processes() not in ([], [before]), "another process has replaced it")
    more = site.put_many(60, "quick")
    site.wait_for("complete", *more)
    assert "died" not in work.log()
    assert {note.pid for note in site.notes("ran")} > {before}
    # Running jobs were allowed to finish, so no job was reclaimed.
    for job_id in (held, *ids):
        assert "lost" not in site.kinds(job_id)
    assert site.kinds(held) == ["put", "popped", "completed"]


def test_slow_jobs_are_spread_over_workers_even_after_quick_jobs(site: Site) -> None:
    works = [site.work("-c", "1") for _ in range(2)]
    site.wait_for("complete", *site.put_many(600, "quick"))
    until(lambda: all(work.processes() for work in works), "both workers have processes")
    ids = site.put_many(8, "brief", seconds=1.0)
    site.wait_for("complete", *ids)
    share = Counter(note.pid for note in site.notes("ran") if note.id in ids)
    assert set(share) == {pid for work in works for pid in work.processes()}
    assert min(share.values()) >= 2


def test_cron_task_is_put_once_with_several_processes(site: Site, tmp_path: Path) -> None:
    (tmp_path / "clockwork.py").write_text(CLOCKWORK)
    work = site.work("--processes", "3", app="clockwork:app", cwd=tmp_path)
    until(lambda: work.log().count("working") == 3, "all three processes have started")
    [schedule] = site.hr.schedules.list()
    assert (schedule.id, schedule.cron) == ("cron:tick", "* * * * *")

    # Many occurrences in a short time, created by whichever process comes first.
    site.queue.schedule("cron:tick", schedule.data, every=0.05)
    until(lambda: site.hr.schedules.list()[0].counter >= 20, "20 occurrences exist")
    site.hr.schedules.delete("cron:tick")
    put = [event.job_id for event in site.hr.events() if event.kind == "put"]
    assert put == [f"cron:tick-{number}" for number in range(1, len(put) + 1)]
    site.wait_for("complete", *put)


def test_later_worker_keeps_a_cron_schedule_unless_it_changed(site: Site, tmp_path: Path) -> None:
    (tmp_path / "clockwork.py").write_text(CLOCKWORK)
    first = site.work(app="clockwork:app", cwd=tmp_path)
    until(lambda: "working" in first.log(), "the first worker has started")
    [before] = site.hr.schedules.list()
    second = site.work(app="clockwork:app", cwd=tmp_path)
    until(lambda: "working" in second.log(), "the second worker has started")
    [after] = site.hr.schedules.list()
    assert (after.next, after.made) in ((before.next, before.made), (after.next, before.made + 1))

    (tmp_path / "clockwork.py").write_text(CLOCKWORK.replace("* * * * *", "30 4 * * *"))
    third = site.work(app="clockwork:app", cwd=tmp_path)
    until(lambda: "working" in third.log(), "the third worker has started")
    [changed] = site.hr.schedules.list()
    assert changed.cron == "30 4 * * *"
