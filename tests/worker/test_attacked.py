"""What a fresh mind found: queues that pop empties, odd exceptions, settings that change."""

from __future__ import annotations

import asyncio

import pytest

from headrace import App, Discard, Retry, Snooze
from headrace.operations.lease_watch import missed
from headrace.transport.drive import drive_async
from headrace.worker import worker as working
from headrace.worker.run import Failed, failed
from headrace.worker.settings import WorkerSettings
from tests.worker.here import at_work, new_app, until
from tests.worker.site import Site
from tests.worker.test_parts import popped


async def test_what_pop_removed_runs_to_its_end_also_when_the_worker_is_told_to_stop(
    valkey_url: str,
) -> None:
    app = new_app(valkey_url)
    app.client.queue("fifo").configure("fifo")
    ran: list[int] = []
    gate = asyncio.Event()

    @app.task(queue="fifo")
    async def take(n: int) -> None:
        ran.append(n)
        await gate.wait()

    take.put_many([{"n": n} for n in range(3)])
    async with at_work(app, "fifo", concurrency=3) as (worker, client):
        worker._settings = WorkerSettings("here", concurrency=1)

        async def has_begun() -> bool:
            return ran == [0]

        await until(has_begun)
        assert await drive_async(client.core.transport, missed(client.core, worker._hands)) == []
        worker.stop()
        gate.set()
    assert ran == [0, 1, 2]
    app.close()


async def test_a_lease_that_a_running_worker_did_not_expect_is_renewed(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working, "LOOK_AT_SETTINGS", 0.06)
    app = new_app(valkey_url)
    gate = asyncio.Event()

    @app.task(queue="turns")
    async def wait() -> None:
        await gate.wait()

    app.client.queue("turns").put("made", id="made")
    app.client.cancel("made")
    async with at_work(app, "turns") as (_, client):
        queue = client.queue("turns")
        await queue.configure("ring", lease=0.5)
        job_id = await wait.aput()
        deadlines = set()

        async def was_renewed() -> bool:
            job = await client.job(job_id)
            deadlines.add(job and job.expires)
            return len(deadlines - {None}) > 3

        await until(was_renewed)
        gate.set()

        async def is_over() -> bool:
            return (await queue.counts()).running == 0

        await until(is_over)
        kinds = [event.kind async for event in client.events() if event.job_id == job_id]
        assert kinds == ["put", "popped", "completed"]
    app.close()


class Unfinished(Retry):
    """Does not call its base."""

    def __init__(self) -> None:
        self.host = "mx1"


class Restless(Snooze):
    def __init__(self) -> None:
        self.host = "mx1"


class Falsy(ValueError):
    def __bool__(self) -> bool:
        raise KeyError("no")


class Mute(ValueError):
    def __str__(self) -> str:
        raise KeyboardInterrupt


NAMELESS = type("", (Exception,), {})


class Wordless(Discard):
    def __init__(self) -> None:
        self.failure = 5  # type: ignore[assignment]


@pytest.mark.parametrize(
    "error", [Unfinished(), Restless(), Falsy("x"), Mute("x"), NAMELESS("x"), Wordless()], ids=repr
)
def test_whatever_is_raised_becomes_a_failure_with_a_name(error: BaseException) -> None:
    outcome = failed(App("test", url="redis://nowhere"), popped(), error, None)

    assert isinstance(outcome, Failed)
    assert outcome.failure
    assert outcome.failure.isprintable()


def test_a_task_within_a_task_cannot_end_the_process(site: Site) -> None:
    work = site.work()
    job_id = site.queue.put({"task": "exits_within", "args": {}}, retries=0)
    site.wait_for("failed", job_id)
    site.wait_for("complete", site.put("quick"))

    assert "died" not in work.log()


def test_neighbours_of_what_cannot_be_shown_are_not_harmed(site: Site) -> None:
    site.work("--concurrency", "10")
    bad = site.queue.put({"task": "unfinished", "args": {}}, retries=0)
    good = [site.put("brief_plain", seconds=0.05) for _ in range(6)]
    [job] = site.wait_for("failed", bad)
    site.wait_for("complete", *good)

    assert job.failure is not None
    assert job.failure.type == "Unfinished"
