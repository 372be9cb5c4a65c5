"""Which queues are served, in which order, and how a process is replaced."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.servers import until
from tests.worker.judge import assert_done_once
from tests.worker.site import Site, site_on
from tests.writes import was_long_ago, write_and_die

CLOCKWORK = """
import os
from headrace import App

app = App(os.environ["SHOP_NAME"])


@app.cron("* * * * *")
async def tick() -> None: ...
"""


def wait_until_idle(site: Site, *queues: str) -> None:
    until(lambda: all(site.hr.queue(q).counts().length == 0 for q in queues), "all is done", 30)


def served_in_turn(site: Site, ids_by_queue: dict[str, list[str]]) -> list[str]:
    """The queues of the jobs, in the order in which they ran."""
    queue_of = {job_id: queue for queue, ids in ids_by_queue.items() for job_id in ids}
    return [queue_of[note.id] for note in site.notes("ran")]


def test_queues_are_served_in_their_order(site: Site) -> None:
    ids = {name: site.put_many(50, "quick", queue=name) for name in ("low", "mail", "high")}
    site.work("-q", "high,mail,low", "-c", "1")
    wait_until_idle(site, *ids)
    assert served_in_turn(site, ids) == ["high"] * 50 + ["mail"] * 50 + ["low"] * 50


@pytest.mark.parametrize("shards", [1, 4])
def test_queues_are_served_by_their_weights(valkey_url: str, tmp_path: Path, shards: int) -> None:
    with site_on(valkey_url, tmp_path, shards) as site:
        ids = {name: site.put_many(600, "brief", queue=name, seconds=0.003) for name in ("a", "b")}
        site.work("-q", "a:3,b:1", "-c", "1")
        wait_until_idle(site, *ids)
        # As long as both have work, a is served three times as often.
        first = Counter(served_in_turn(site, ids)[:600])
        assert 0.55 < first["a"] / 600 < 0.92


def test_a_worker_ends_the_writes_of_dead_drivers(valkey_url: str, tmp_path: Path) -> None:
    with site_on(valkey_url, tmp_path, shards=3) as site:
        rows = [(f"job{n}", b'{"task": "quick", "args": {}}') for n in range(12)]
        write_and_die(site.hr, rows, queue="default")
        was_long_ago(site.hr)
        work = site.work("-q", "default")

        said = "a write from Spark was left open write=w rows=12"
        until(lambda: said in work.log(), "the write is over", 30)

        site.wait_for("complete", *(name for name, _ in rows))
        written = site.hr.writes.get("w")
        assert written is not None
        assert (written.made, written.lost, written.published_at is None) == (12, {}, False)


def test_a_paused_queue_is_left_alone_and_the_others_are_not(site: Site) -> None:
    site.hr.queue("mail").configure(paused=True)
    held = site.put_many(5, "quick", queue="mail")
    site.work("-q", "mail,default")
    site.wait_for("complete", *site.put_many(20, "quick"))
    assert {job.state for job in site.hr.jobs(held)} == {"waiting"}
    site.hr.queue("mail").configure(paused=False)
    site.wait_for("complete", *held)


def test_a_queue_that_needs_a_session_is_served(site: Site) -> None:
    queue = site.hr.queue("jobs")
    queue.configure("task", keep_count=1000)
    ids = site.put_many(30, "quick", queue="jobs") + site.put_many(5, "plain", queue="jobs")
    site.work("-q", "jobs", "--processes", "2")
    site.wait_for("complete", *ids)
    assert_done_once(site, ids)
    # Somebody ends the sessions: new ones begin, and serve the queue again.
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


def test_a_lease_without_a_session_is_renewed_while_the_job_runs(site: Site) -> None:
    queue = site.hr.queue("line")
    queue.configure("ring", lease=0.6, history=10, keep_count=10)
    job_id = site.put("gate", queue="line", name="after")
    site.work("-q", "line")
    site.work("-q", "line")
    [note] = site.wait_for_notes(1, "begun")
    first = site.job(job_id).expires
    assert first is not None
    # The deadline was put off four times and more, and no peer has got the job.
    until(lambda: passed(site, job_id, first.timestamp() + 2.4), "the lease is over four times")
    site.open_gate("after")
    site.wait_for("complete", job_id)
    assert [one.pid for one in site.notes("begun")] == [note.pid]
    assert site.kinds(job_id) == ["put", "popped", "completed"]


def passed(site: Site, job_id: str, moment: float) -> bool:
    expires = site.job(job_id).expires
    return expires is not None and expires.timestamp() > moment


@pytest.mark.parametrize("options", [("--max-jobs", "20"), ("--max-memory", "1")])
def test_a_process_that_has_done_or_grown_enough_is_replaced(
    site: Site, options: tuple[str, str]
) -> None:
    work = site.work("-c", "4", *options)
    held = site.put("gate", name="held")
    ids = site.put_many(60, "quick")
    site.wait_for("complete", *ids)
    until(lambda: "recycled" in work.log(), "it is to be replaced")
    [before] = {note.pid for note in site.notes("begun")}
    assert before in work.processes()
    site.open_gate("held")
    site.wait_for("complete", held)
    until(lambda: work.processes() not in ([], [before]), "it is replaced")
    more = site.put_many(60, "quick")
    site.wait_for("complete", *more)
    assert "died" not in work.log()
    assert {note.pid for note in site.notes("ran")} > {before}
    # What ran was let end: nobody lost anything.
    for job_id in (held, *ids):
        assert "lost" not in site.kinds(job_id)
    assert site.kinds(held) == ["put", "popped", "completed"]


def test_slow_jobs_are_spread_over_workers_also_after_quick_ones(site: Site) -> None:
    works = [site.work("-c", "1") for _ in range(2)]
    site.wait_for("complete", *site.put_many(600, "quick"))
    until(lambda: all(work.processes() for work in works), "both work")
    ids = site.put_many(8, "brief", seconds=1.0)
    site.wait_for("complete", *ids)
    share = Counter(note.pid for note in site.notes("ran") if note.id in ids)
    assert set(share) == {pid for work in works for pid in work.processes()}
    assert min(share.values()) >= 2


def test_a_task_of_the_clock_is_put_once_however_many_processes_begin(
    site: Site, tmp_path: Path
) -> None:
    (tmp_path / "clockwork.py").write_text(CLOCKWORK)
    work = site.work("--processes", "3", app="clockwork:app", cwd=tmp_path)
    until(lambda: work.log().count("working") == 3, "all work")
    [schedule] = site.hr.schedules.list()
    assert (schedule.id, schedule.cron) == ("cron:tick", "* * * * *")

    # More turns than in a minute, made by whoever comes first.
    site.queue.schedule("cron:tick", schedule.data, every=0.05)
    until(lambda: site.hr.schedules.list()[0].counter >= 20, "turns are made")
    site.hr.schedules.delete("cron:tick")
    put = [event.job_id for event in site.hr.events() if event.kind == "put"]
    assert put == [f"cron:tick-{number}" for number in range(1, len(put) + 1)]
    site.wait_for("complete", *put)


def test_a_worker_that_begins_later_leaves_the_clock_as_it_is(site: Site, tmp_path: Path) -> None:
    (tmp_path / "clockwork.py").write_text(CLOCKWORK)
    first = site.work(app="clockwork:app", cwd=tmp_path)
    until(lambda: "working" in first.log(), "the first works")
    [before] = site.hr.schedules.list()
    second = site.work(app="clockwork:app", cwd=tmp_path)
    until(lambda: "working" in second.log(), "the second works")
    [after] = site.hr.schedules.list()
    assert (after.next, after.made) in ((before.next, before.made), (after.next, before.made + 1))

    (tmp_path / "clockwork.py").write_text(CLOCKWORK.replace("* * * * *", "30 4 * * *"))
    third = site.work(app="clockwork:app", cwd=tmp_path)
    until(lambda: "working" in third.log(), "the third works")
    [changed] = site.hr.schedules.list()
    assert changed.cron == "30 4 * * *"
