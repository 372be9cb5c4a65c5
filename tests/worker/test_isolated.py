"""Isolated jobs whose processes have children: no death is overlooked, nobody is left behind."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from headrace import Job
from headrace.worker.isolated import Watch
from tests.support.processes import gone, start_python
from tests.support.servers import until
from tests.worker.site import Site


def child_of(site: Site) -> int:
    until(lambda: any("child" in note.word for note in site.notes()), "it has a child")
    return int(site.notes()[-1].word.removeprefix("child "))


def put_once(site: Site, task: str, timeout: float | None = None, **arguments: Any) -> str:
    data: dict[str, Any] = {"task": task, "args": arguments}
    return site.queue.put(data if timeout is None else data | {"timeout": timeout}, retries=0)


def failure_of(job: Job) -> tuple[str, str]:
    assert job.failure is not None
    return job.failure.type, job.failure.message


@pytest.mark.parametrize(("how", "words"), [("exit", "exit code 3"), ("kill", "signal 9")])
def test_a_process_that_dies_is_missed_though_a_child_of_it_lives(
    site: Site, how: str, words: str
) -> None:
    site.work()
    [job] = site.wait_for("failed", put_once(site, "forks_apart", then=how))

    kind, message = failure_of(job)
    assert kind == "Crashed"
    assert words in message
    until(lambda: gone(child_of(site)), "its child is gone")


@pytest.mark.parametrize(
    ("task", "arguments"), [("forks_apart", {"then": "hang"}), ("begins_apart", {})]
)
def test_a_process_that_is_killed_for_its_timeout_leaves_nobody_behind(
    site: Site, task: str, arguments: dict[str, str]
) -> None:
    site.work()
    [job] = site.wait_for("failed", put_once(site, task, timeout=0.3, **arguments))

    assert failure_of(job)[0] == "Timeout"
    until(lambda: gone(child_of(site)), "its child is gone")


def test_a_job_that_is_cancelled_while_its_process_begins_leaves_none(
    site: Site, tmp_path: Path
) -> None:
    app = """
import os, pathlib, time
import headrace
pathlib.Path("loaded").open("a").write(f"{os.getpid()}\\n")
while os.path.exists("slow") and "isolated_main" in open("/proc/self/cmdline").read():
    time.sleep(0.01)
app = headrace.App(os.environ["SHOP_NAME"])
@app.task(run="process")
def apart(): pass
"""
    (tmp_path / "slow_apart.py").write_text(app)
    (tmp_path / "slow").touch()
    work = site.work(app="slow_apart:app", cwd=tmp_path)
    job_id = site.put("apart")
    loaded = tmp_path / "loaded"

    def pids() -> list[int]:
        found = [int(line) for line in loaded.read_text().split()] if loaded.exists() else []
        return [pid for pid in found if pid not in {work.pid, *work.processes()}]

    until(lambda: len(pids()) > 0 and site.job(job_id).state == "running", "a process begins")
    site.hr.cancel(job_id)

    until(lambda: all(map(gone, pids())), "it is gone")
    (tmp_path / "slow").unlink()
    site.wait_for("complete", site.put("apart"))


def test_an_idle_process_that_was_killed_costs_the_next_job_nothing(site: Site) -> None:
    site.work("-c", "1")
    site.wait_for("complete", site.put("apart"))
    [note] = site.notes("ran")
    os.kill(note.pid, SIGKILL)
    until(lambda: gone(note.pid), "it is gone")

    [job] = site.wait_for("complete", put_once(site, "apart"))

    assert job.attempt == 1


@pytest.mark.parametrize("has_numbers", [True, False])
async def test_a_death_is_told_once(
    has_numbers: bool,  # noqa: FBT001 - a column of the table
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not has_numbers:
        monkeypatch.delattr(os, "pidfd_open")
    told = asyncio.Queue[None]()
    with start_python("input()") as child:
        watch = Watch(child, lambda: told.put_nowait(None))
        await asyncio.sleep(0)
        assert told.empty()
        child.kill()

        await asyncio.wait_for(told.get(), 20)

        assert child.returncode is None
        watch.close()
        assert told.empty()


async def test_nothing_is_told_of_a_process_that_is_no_longer_watched() -> None:
    told = asyncio.Queue[None]()
    with start_python("input()") as child:
        Watch(child, lambda: told.put_nowait(None)).close()
        second = Watch(child, lambda: told.put_nowait(None))
        child.kill()

        await asyncio.wait_for(told.get(), 20)

        second.close()
        assert told.empty()
