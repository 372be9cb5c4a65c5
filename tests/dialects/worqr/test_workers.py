"""Workers: kept alive, failed by themselves and by others; what becomes of what they were at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

import headrace
from headrace import Client, InvalidArgument, LeaseLost, SessionEnded, SessionRequired
from headrace.compat.plain import Plain
from headrace.compat.worqr import AsyncWorqr, Worqr
from headrace.testing import Clock
from tests.client.test_both_colours import methods, parameters
from tests.dialects.worqr.conftest import KINDS
from tests.dialects.worqr.working import at_work, drained, eventually, hearing, hears, started
from tests.proof import proves
from tests.support.clients import CLIENT_KINDS, got, opened
from tests.support.dump import dump

New = Callable[..., Any]
SOON = 5


def alive(hr: Client, worker: str = "W1") -> bool:
    return worker in {found.name for found in hr.workers.list()}


async def kept_alive(hr: Client, clock: Clock, seconds: float, *workers: str) -> None:
    """Time passes in which these workers keep themselves alive in the background."""
    for _ in range(round(seconds)):
        clock.tick(1)
        await eventually(
            lambda: all(one.expires_in == 3 for one in hr.workers.list() if one.name in workers),
            f"{workers} are renewed",
        )


@proves("W-31")
async def test_a_started_worker_keeps_itself_alive(hr: Client, new: New, clock: Clock) -> None:
    worqr = await at_work(new(workerHeartbeatInterval=SOON), "Q1")
    await got(worqr.enqueue("T0", "Q1"))
    process = await started(worqr)

    await kept_alive(hr, clock, 10, "W1")

    assert await got(worqr.getWorkers()) == ["W1"]
    await got(worqr.finishTask(process.id))


@proves("W-32", "W-40")
async def test_a_worker_that_was_failed_notices_and_must_restart(
    hr: Client, new: New, caplog: pytest.LogCaptureFixture
) -> None:
    worqr, peer = new(workerHeartbeatInterval=SOON), new("W2")
    heard = hearing(worqr)
    await at_work(worqr, "Q1")

    await got(peer.failWorker("W1"))

    await eventually(lambda: not worqr.crew.members and not worqr.crew.posts, "it has noticed")
    assert "worker 'W1' was not kept alive in time, it must restart" in caplog.text
    with pytest.raises(SessionEnded):
        await got(worqr.keepWorkerAlive())
    await got(peer.enqueue("T0", "Q1"))
    with pytest.raises(SessionRequired):
        await got(worqr.startTask("Q1"))
    with pytest.raises(SessionEnded):
        await got(worqr.startWork("Q1"))
    assert heard == []
    await at_work(worqr, "Q1")
    await hears(heard, ("work", 1))
    assert await drained(worqr) == ["T0"]
    assert alive(hr)


@proves("W-37")
async def test_a_worker_may_fail_itself_and_others(hr: Client, worqr: Any, new: New) -> None:
    other = await at_work(new("W2"), "Q1")
    await at_work(worqr, "Q1")
    await got(worqr.enqueue(["T0", "T1"], "Q1"))
    await started(worqr)
    await started(other)

    await got(worqr.failWorker("W2"))
    assert await got(worqr.getTasks("Q1")) == ["T1"]
    await got(worqr.failWorker())
    assert await got(worqr.getTasks("Q1")) == ["T0", "T1"]

    before = dump(hr)
    for name in (None, "W2", "nobody"):
        with pytest.raises(SessionEnded):
            await got(worqr.failWorker(name))
    assert dump(hr) == before


@proves("W-01", "W-38")
async def test_the_next_task_that_a_peer_starts_may_be_that_of_a_dead_worker(
    worqr: Any, new: New, clock: Clock
) -> None:
    await at_work(worqr, "Q1")
    await got(worqr.enqueue(["T0", "T1"], "Q1"))
    await started(worqr)
    clock.tick(3)

    peer = await at_work(new("W2"), "Q1")

    assert await drained(peer) == ["T0", "T1"]
    assert await got(peer.getWorkers()) == ["W2"]


@proves("W-38")
async def test_peers_look_after_dead_workers_now_and_then(
    hr: Client, worqr: Any, new: New, clock: Clock
) -> None:
    peer = new("W2", workerHeartbeatInterval=SOON, workerCleanupInterval=SOON)
    await at_work(worqr, "Q1")
    await got(worqr.enqueue("T0", "Q1"))
    await started(worqr)
    await got(peer.startWorker())

    await kept_alive(hr, clock, 3, "W2")

    await eventually(lambda: not alive(hr), "W1 is gone")
    assert await got(peer.getTasks("Q1")) == ["T0"]
    assert alive(hr, "W2")


@proves("WD-03")
async def test_the_end_of_one_worker_does_not_touch_what_others_are_at(
    worqr: Any, new: New
) -> None:
    other = await at_work(new("W2"), "Q1")
    await at_work(worqr, "Q1")
    await got(worqr.enqueue(["T0", "T1"], "Q1"))
    await started(worqr)
    kept = await started(other)

    await got(worqr.failWorker())

    assert await got(other.getProcesses()) == [kept.id]
    assert await got(other.getTasks("Q1")) == ["T0"]
    await got(other.finishTask(kept.id))


@proves("WD-04")
async def test_a_task_started_just_before_returns_with_the_rest(worqr: Any, new: New) -> None:
    other = await at_work(new("W2"), "Q1")
    await at_work(worqr, "Q1")
    await got(worqr.enqueue(["T0", "T1", "T2"], "Q1"))
    for _ in range(2):
        await started(worqr)
    elsewhere = await got(other.startTask("Q1", "W1"))
    assert elsewhere.task == "T2"

    await got(worqr.stopWork("Q1"))

    assert await got(other.getTasks("Q1")) == ["T0", "T1", "T2"]
    assert await got(other.getProcesses()) == []


@proves("W-41", "WD-16")
async def test_what_a_dead_worker_says_later_does_not_touch_the_task_of_another(
    hr: Client, worqr: Any, new: New, clock: Clock
) -> None:
    await at_work(worqr, "Q1")
    await got(worqr.enqueue("T0", "Q1"))
    lost = await started(worqr)
    clock.tick(3)
    peer = await at_work(new("W2"), "Q1")
    heard = hearing(peer)
    present = await started(peer)
    before = dump(hr)

    for end in (worqr.finishTask, worqr.stopTask):
        with pytest.raises(LeaseLost) as refused:
            await got(end(lost.id))
        assert refused.value.worker == "W2"

    assert dump(hr) == before
    await got(peer.finishTask(present.id))
    done = {"workerId": "W2", "task": "T0", "result": None}
    await hears(heard, ("work", 1), ("done", done))
    told = [(event.kind, event.worker, event.reason) for event in hr.events() if event.job_id]
    assert told[:4] == [
        ("put", "", None),
        ("popped", "W1", None),
        ("lost", "W1", "session ended"),
        ("popped", "W2", None),
    ]


@proves("W-45")
async def test_workers_what_they_serve_and_hold_are_kept_where_anybody_finds_them(
    hr: Client, worqr: Any
) -> None:
    await at_work(worqr, "Q1")
    await got(worqr.enqueue(["T0", "T1"], "Q1"))
    process = await started(worqr)

    keys = {key.split("}:")[1]: value for key, (_, value) in dump(hr).items()}

    job_id = process.id.partition("_")[2].encode()
    assert [name for name, _ in zip(*[iter(keys["sessions"])] * 2, strict=True)] == [b"W1"]
    assert keys["serves:W1"][0] == b"Q1"
    assert keys["held:W1"][0] == b"Q1\0" + job_id
    assert keys["running:Q1"][0] == job_id
    assert len(keys["waiting:Q1"]) == 2


# options


@proves("W-39")
@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_prefix_worker_and_times_are_chosen_and_have_defaults(
    valkey_url: str, colour: str
) -> None:
    plain = KINDS[colour](valkey_url)
    assert (plain.workerHeartbeatInterval, plain.workerTimeout) == (1000, 3)
    assert plain.workerCleanupInterval == 10_000
    assert UUID(plain.workerId).version == 4
    chosen = KINDS[colour](valkey_url, redisKeyPrefix="mine", workerId="W7", workerTimeout=60)
    try:
        for worqr in (plain, chosen):
            await at_work(worqr, "Q1")
            await got(worqr.enqueue(worqr.core.namespace, "Q1"))
            assert await drained(worqr) == [worqr.core.namespace]
        assert (plain.core.namespace, chosen.core.namespace) == ("worqr", "mine")
        with headrace.connect(valkey_url, namespace="mine", codec="raw") as hr:
            [worker] = hr.workers.list()
            assert worker.name == "W7"
            assert 50 < (worker.expires_in or 0) <= 60
            assert [job.data for job in hr.queue("Q1").jobs("running").jobs] == [b"mine"]
    finally:
        for worqr in (plain, chosen):
            await got(worqr.deleteQueue("Q1"))
            await got(worqr.close())


@proves("W-39", "WL-06")
async def test_a_negative_timeout_makes_a_permanent_worker(
    hr: Client, new: New, clock: Clock
) -> None:
    worqr = await at_work(new(workerTimeout=-1), "Q1")
    await got(worqr.enqueue("T0", "Q1"))
    process = await started(worqr)
    clock.tick(86_400 * 365)
    hr.sweep()
    await got(worqr.keepWorkerAlive())
    assert await got(worqr.getProcesses()) == [process.id]

    await got(worqr.close())
    assert alive(hr)
    peer = new("W2")
    await got(peer.failWorker("W1"))
    assert await got(peer.getTasks("Q1")) == ["T0"]


@proves("WL-05")
async def test_a_task_that_never_ends_is_with_one_worker_at_a_time(
    worqr: Any, new: New, clock: Clock
) -> None:
    await got(worqr.enqueue("a connection", "Q1"))
    await at_work(worqr, "Q1")
    await started(worqr)
    peer = new("W2")
    for _ in range(20):
        clock.tick(2)
        await got(worqr.keepWorkerAlive())
        await at_work(peer, "Q1")
        assert await got(peer.startTask("Q1")) is None

    await got(worqr.failWorker())

    assert (await started(peer)).task == "a connection"


@pytest.mark.parametrize("kind", KINDS.values())
def test_options_that_make_no_sense_are_refused(hr: Client, kind: Any) -> None:
    for client in (None, 7, hr if kind is AsyncWorqr else b"redis://"):
        with pytest.raises(InvalidArgument, match="or a URL"):
            kind(client)
    wrong: list[tuple[str, Any]] = [
        ("workerHeartbeatInterval", 0),
        ("workerHeartbeatInterval", "1000"),
        ("workerCleanupInterval", -1),
        ("workerTimeout", 0),
        ("workerTimeout", None),
        ("workerId", ""),
        ("redisKeyPrefix", "{mine}"),
    ]
    for name, value in wrong:
        with pytest.raises(InvalidArgument):
            kind("redis://nowhere", **{name: value})
    with pytest.raises(InvalidArgument, match="leave redisKeyPrefix out"):
        Worqr(hr, redisKeyPrefix="another")


async def test_to_close_is_to_fail_and_nothing_runs_on(hr: Client, new: New) -> None:
    worqr = new(workerHeartbeatInterval=SOON)
    heard = hearing(worqr)
    await got(worqr.enqueue(["T0", "T1"], "Q1"))
    await at_work(worqr, "Q1", "Q2")
    await hears(heard, ("work", 2))
    await started(worqr)

    await got(worqr.close())

    assert not alive(hr)
    assert await got(worqr.getTasks("Q1")) == ["T0", "T1"]
    if isinstance(worqr, AsyncWorqr):
        assert worqr.crew._running == set()
    else:
        assert len(worqr.crew._threads) == 4
        assert not [thread for thread in worqr.crew._threads if thread.is_alive()]


async def test_who_is_used_again_after_it_was_closed_hears_again(new: New) -> None:
    worqr = new()
    heard = hearing(worqr)
    await got(worqr.enqueue("T0", "Q1"))
    for _ in range(3):
        await at_work(worqr, "Q1")
        await hears(heard, ("work", 1))
        await got(worqr.close())


@pytest.mark.parametrize("colour", CLIENT_KINDS)
async def test_nothing_keeps_a_worker_alive_whose_client_is_closed(
    hr: Client, url: str, colour: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(colour, url, namespace=hr.core.namespace) as client:
        worqr = KINDS[colour](client, workerId="W1", workerHeartbeatInterval=SOON)
        await at_work(worqr, "Q1")

    await eventually(lambda: not worqr.crew.members and not worqr.crew.posts, "it has noticed")
    assert "worker 'W1' is not kept alive: its client is closed" in caplog.text
    await got(worqr.close())


async def test_workers_that_start_work_at_once_hear_everything_once(url: str, hr: Client) -> None:
    async with (
        opened("async", url, namespace=hr.core.namespace, codec=Plain()) as client,
        AsyncWorqr(client) as worqr,
    ):
        heard = hearing(worqr)
        for name in ("W1", "W2", "W3"):
            await worqr.startWorker(name)
        await asyncio.gather(*(worqr.startWork(name, "Q1") for name in ("W1", "W2", "W3")))

        await worqr.enqueue("T0", "Q1")
        process = await worqr.startTask("Q1", "W1")
        assert process is not None
        await worqr.finishTask(process.id)

        done = {"workerId": "W1", "task": "T0", "result": None}
        await hears(heard, ("work", 1), ("done", done))
        for name in ("W1", "W2", "W3"):
            await worqr.stopWork(name, "Q1")
        assert not [
            subscription for subscription in client.core.transport._held if not subscription.broken
        ]


async def test_a_worker_that_is_started_again_has_lost_what_it_had(hr: Client, worqr: Any) -> None:
    await at_work(worqr, "Q1")
    await got(worqr.enqueue("T0", "Q1"))
    await started(worqr)

    await got(worqr.startWorker())

    assert hr.workers.list()[0].queues == []
    assert await got(worqr.getTasks("Q1")) == ["T0"]
    assert worqr.crew.posts == {}


async def test_an_instance_may_have_several_workers(hr: Client, worqr: Any) -> None:
    heard = hearing(worqr)
    for name in ("W1", "W2"):
        await got(worqr.startWorker(name))
        await got(worqr.startWork(name, "Q1"))
    await got(worqr.enqueue("T0", "Q1"))
    await hears(heard, ("work", 1))
    assert (await got(worqr.startTask("Q1", "W2"))).task == "T0"

    await got(worqr.stopWork("W1", "Q1"))
    await got(worqr.enqueue("T1", "Q1"))
    await hears(heard, ("work", 1))
    await got(worqr.failWorker("W2"))

    assert worqr.crew.posts == {}
    assert [worker.name for worker in hr.workers.list()] == ["W1"]


def test_both_colours_have_the_same_words() -> None:
    assert set(methods(Worqr)) == set(methods(AsyncWorqr)) - {"open"}
    for name, method in methods(Worqr).items():
        assert parameters(method) == parameters(methods(AsyncWorqr)[name]), name
        assert method.__doc__, name
