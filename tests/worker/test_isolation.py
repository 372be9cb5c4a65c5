"""Isolated processes: their death is noticed, and their children are killed with them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from headrace import Job
from headrace.worker.isolation import DeathWatch
from tests.support.processes import gone, start_python
from tests.support.servers import until
from tests.worker.support.site import Site


def child_of(site: Site) -> int:
    until(lambda: any("child" in note.word for note in site.notes()), "the process has a child")
    return int(site.notes()[-1].word.removeprefix("child "))


def put_once(site: Site, task: str, timeout: float | None = None, **arguments: Any) -> str:
    data: dict[str, Any] = {"task": task, "args": arguments}
    return site.queue.put(data if timeout is None else data | {"timeout": timeout}, retries=0)


def failure_of(job: Job) -> tuple[str, str]:
    assert job.failure is not None
    return job.failure.type, job.failure.message


@pytest.mark.parametrize(("how", "words"), [("exit", "exit code 3"), ("kill", "signal 9")])
def test_dead_isolated_process_is_noticed_while_its_child_lives(
    site: Site, how: str, words: str
) -> None:
    site.work()
    [job] = site.wait_for("failed", put_once(site, "forks_isolated", then=how))

    kind, message = failure_of(job)
    assert kind == "Crashed"
    assert words in message
    until(lambda: gone(child_of(site)), "its child is gone")


@pytest.mark.parametrize(
    ("task", "arguments"), [("forks_isolated", {"then": "hang"}), ("begins_isolated", {})]
)
def test_timeout_kills_the_isolated_process_and_its_children(
    site: Site, task: str, arguments: dict[str, str]
) -> None:
    site.work()
    [job] = site.wait_for("failed", put_once(site, task, timeout=0.3, **arguments))

    assert failure_of(job)[0] == "Timeout"
    until(lambda: gone(child_of(site)), "its child is gone")


def test_cancelling_a_job_kills_an_isolated_process_that_is_still_starting(
    site: Site, tmp_path: Path
) -> None:
    app = """
import os, pathlib, time
import headrace
pathlib.Path("loaded").open("a").write(f"{os.getpid()}\\n")
while os.path.exists("slow") and "worker.isolation" in open("/proc/self/cmdline").read():
    time.sleep(0.01)
app = headrace.App(os.environ["SHOP_NAME"])
@app.task(run="process")
def isolated(): pass
"""
    (tmp_path / "slow_isolated.py").write_text(app)
    (tmp_path / "slow").touch()
    work = site.work(app="slow_isolated:app", cwd=tmp_path)
    job_id = site.put("isolated")
    loaded = tmp_path / "loaded"

    def pids() -> list[int]:
        found = [int(line) for line in loaded.read_text().split()] if loaded.exists() else []
        return [pid for pid in found if pid not in {work.pid, *work.processes()}]

    until(
        lambda: len(pids()) > 0 and site.job(job_id).state == "running",
        "an isolated process starts",
    )
    site.hr.cancel(job_id)

    until(lambda: all(map(gone, pids())), "the process is gone")
    (tmp_path / "slow").unlink()
    site.wait_for("complete", site.put("isolated"))


def test_killed_idle_process_does_not_cost_the_next_job_an_attempt(site: Site) -> None:
    site.work("-c", "1")
    site.wait_for("complete", site.put("isolated"))
    [note] = site.notes("ran")
    os.kill(note.pid, SIGKILL)
    until(lambda: gone(note.pid), "the process is gone")

    [job] = site.wait_for("complete", put_once(site, "isolated"))

    assert job.attempt == 1


@pytest.mark.parametrize("has_pidfd", [True, False])
async def test_death_watch_calls_back_once(
    has_pidfd: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not has_pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    calls = asyncio.Queue[None]()
    with start_python("input()") as child:
        watch = DeathWatch(child, lambda: calls.put_nowait(None))
        await asyncio.sleep(0)
        assert calls.empty()
        child.kill()

        await asyncio.wait_for(calls.get(), 20)

        assert child.returncode is None
        watch.close()
        assert calls.empty()


async def test_closed_death_watch_does_not_call_back() -> None:
    calls = asyncio.Queue[None]()
    with start_python("input()") as child:
        DeathWatch(child, lambda: calls.put_nowait(None)).close()
        second = DeathWatch(child, lambda: calls.put_nowait(None))
        child.kill()

        await asyncio.wait_for(calls.get(), 20)

        second.close()
        assert calls.empty()
