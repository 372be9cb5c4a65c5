"""Workers are kept alive, or fail and return their tasks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

import headrace
from headrace import Client, InvalidArgument, LeaseLost, SessionEnded, SessionRequired
from headrace.compat.worqr import AsyncWorqr, Worqr
from headrace.testing import Clock, settable_clock
from tests.compat.worqr.support.working import (
    at_work,
    drained,
    eventually,
    expect,
    receiving,
    started,
)
from tests.proof import proves
from tests.support.dump import dump

New = Callable[..., Any]
SOON = 5


def alive(hr: Client, worker: str = "W1") -> bool:
    return worker in {found.name for found in hr.workers.list()}


def kept_alive(hr: Client, clock: Clock, seconds: float, *workers: str) -> None:
    """Advance the clock while background threads keep these workers alive."""
    for _ in range(round(seconds)):
        clock.tick(1)
        eventually(
            lambda: all(one.expires_in == 3 for one in hr.workers.list() if one.name in workers),
            f"{workers} are renewed",
        )


@proves("W-31")
def test_started_worker_is_kept_alive(hr: Client, new: New, clock: Clock) -> None:
    worqr = at_work(new(workerHeartbeatInterval=SOON), "Q1")
    worqr.enqueue("T0", "Q1")
    process = started(worqr)

    kept_alive(hr, clock, 10, "W1")

    assert worqr.getWorkers() == ["W1"]
    worqr.finishTask(process.id)


@proves("W-32", "W-40")
def test_failed_worker_notices_and_must_restart(
    hr: Client, new: New, caplog: pytest.LogCaptureFixture
) -> None:
    worqr, peer = new(workerHeartbeatInterval=SOON), new("W2")
    received = receiving(worqr)
    at_work(worqr, "Q1")

    peer.failWorker("W1")

    eventually(
        lambda: not worqr.background.workers and not worqr.background.subscriptions,
        "it has noticed",
    )
    assert "session of worker 'W1' ended: the worker must restart" in caplog.text
    with pytest.raises(SessionEnded):
        worqr.keepWorkerAlive()
    peer.enqueue("T0", "Q1")
    with pytest.raises(SessionRequired):
        worqr.startTask("Q1")
    with pytest.raises(SessionEnded):
        worqr.startWork("Q1")
    assert received == []
    at_work(worqr, "Q1")
    expect(received, ("work", 1))
    assert drained(worqr) == ["T0"]
    assert alive(hr)


@proves("W-37")
def test_worker_may_fail_itself_and_others(hr: Client, worqr: Any, new: New) -> None:
    other = at_work(new("W2"), "Q1")
    at_work(worqr, "Q1")
    worqr.enqueue(["T0", "T1"], "Q1")
    started(worqr)
    started(other)

    worqr.failWorker("W2")
    assert worqr.getTasks("Q1") == ["T1"]
    worqr.failWorker()
    assert worqr.getTasks("Q1") == ["T0", "T1"]

    before = dump(hr)
    for name in (None, "W2", "nobody"):
        with pytest.raises(SessionEnded):
            worqr.failWorker(name)
    assert dump(hr) == before


@proves("W-01", "W-38")
def test_peer_starts_the_task_of_a_dead_worker_first(worqr: Any, new: New, clock: Clock) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue(["T0", "T1"], "Q1")
    started(worqr)
    clock.tick(3)

    peer = at_work(new("W2"), "Q1")

    assert drained(peer) == ["T0", "T1"]
    assert peer.getWorkers() == ["W2"]


@proves("W-22", "W-38")
def test_dead_worker_is_not_listed_before_its_tasks_are_returned(
    worqr: Any, new: New, clock: Clock
) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue("T0", "Q1")
    started(worqr)
    clock.tick(2)
    peer = new("W2")
    peer.startWorker()
    assert sorted(peer.getWorkers()) == ["W1", "W2"]

    clock.tick(1)

    assert peer.getWorkers() == ["W2"]


@proves("W-38")
def test_peers_clean_up_dead_workers(hr: Client, worqr: Any, new: New, clock: Clock) -> None:
    peer = new("W2", workerHeartbeatInterval=SOON, workerCleanupInterval=SOON)
    at_work(worqr, "Q1")
    worqr.enqueue("T0", "Q1")
    started(worqr)
    peer.startWorker()

    kept_alive(hr, clock, 3, "W2")

    eventually(lambda: not alive(hr), "W1 is gone")
    assert peer.getTasks("Q1") == ["T0"]
    assert alive(hr, "W2")


@proves("WD-03")
def test_failed_worker_does_not_affect_tasks_of_others(worqr: Any, new: New) -> None:
    other = at_work(new("W2"), "Q1")
    at_work(worqr, "Q1")
    worqr.enqueue(["T0", "T1"], "Q1")
    started(worqr)
    kept = started(other)

    worqr.failWorker()

    assert other.getProcesses() == [kept.id]
    assert other.getTasks("Q1") == ["T0"]
    other.finishTask(kept.id)


@proves("WD-04")
def test_stop_work_returns_tasks_that_another_instance_started(worqr: Any, new: New) -> None:
    other = at_work(new("W2"), "Q1")
    at_work(worqr, "Q1")
    worqr.enqueue(["T0", "T1", "T2"], "Q1")
    for _ in range(2):
        started(worqr)
    elsewhere = other.startTask("Q1", "W1")
    assert elsewhere is not None
    assert elsewhere.task == "T2"

    worqr.stopWork("Q1")

    assert other.getTasks("Q1") == ["T0", "T1", "T2"]
    assert other.getProcesses() == []


@proves("W-41", "WD-16")
def test_late_calls_of_a_dead_worker_are_refused(
    hr: Client, worqr: Any, new: New, clock: Clock
) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue("T0", "Q1")
    lost = started(worqr)
    clock.tick(3)
    peer = at_work(new("W2"), "Q1")
    received = receiving(peer)
    present = started(peer)
    before = dump(hr)

    for end in (worqr.finishTask, worqr.stopTask):
        with pytest.raises(LeaseLost) as refused:
            end(lost.id)
        assert refused.value.worker == "W2"

    assert dump(hr) == before
    peer.finishTask(present.id)
    done = {"workerId": "W2", "task": "T0", "result": None}
    expect(received, ("done", done))
    logged = [(event.kind, event.worker, event.reason) for event in hr.events() if event.job_id]
    assert logged[:4] == [
        ("put", "", None),
        ("popped", "W1", None),
        ("lost", "W1", "session ended"),
        ("popped", "W2", None),
    ]


@proves("W-45")
def test_server_stores_workers_their_queues_and_their_tasks(hr: Client, worqr: Any) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue(["T0", "T1"], "Q1")
    process = started(worqr)

    keys = {key.split("}:")[1]: value for key, (_, value) in dump(hr).items()}

    job_id = process.id.partition("_")[2].encode()
    assert [name for name, _ in zip(*[iter(keys["sessions"])] * 2, strict=True)] == [b"W1"]
    assert keys["serves:W1"][0] == b"Q1"
    assert keys["held:W1"][0] == b"Q1\0" + job_id
    assert keys["running:Q1"][0] == job_id
    assert len(keys["waiting:Q1"]) == 2


# Options.


@proves("W-39")
def test_prefix_worker_and_times_are_options_with_defaults(valkey_url: str) -> None:
    plain = Worqr(valkey_url)
    assert (plain.workerHeartbeatInterval, plain.workerTimeout) == (1000, 3)
    assert plain.workerCleanupInterval == 10_000
    assert UUID(plain.workerId).version == 4
    chosen = Worqr(valkey_url, redisKeyPrefix="mine", workerId="W7", workerTimeout=60)
    try:
        for worqr in (plain, chosen):
            at_work(worqr, "Q1")
            worqr.enqueue(worqr.core.namespace, "Q1")
            assert drained(worqr) == [worqr.core.namespace]
        assert (plain.core.namespace, chosen.core.namespace) == ("worqr", "mine")
        with headrace.connect(valkey_url, namespace="mine", codec="raw") as hr:
            [worker] = hr.workers.list()
            assert worker.name == "W7"
            assert 50 < (worker.expires_in or 0) <= 60
            assert [job.data for job in hr.queue("Q1").jobs("running").jobs] == [b"mine"]
    finally:
        for worqr in (plain, chosen):
            worqr.deleteQueue("Q1")
            worqr.close()


@proves("W-39", "WL-06")
def test_negative_timeout_makes_a_permanent_worker(hr: Client, new: New, clock: Clock) -> None:
    worqr = at_work(new(workerTimeout=-1), "Q1")
    worqr.enqueue("T0", "Q1")
    process = started(worqr)
    clock.tick(86_400 * 365)
    hr.sweep()
    worqr.keepWorkerAlive()
    assert worqr.getProcesses() == [process.id]

    worqr.close()
    assert alive(hr)
    peer = new("W2")
    peer.failWorker("W1")
    assert peer.getTasks("Q1") == ["T0"]


@proves("WL-05")
def test_endless_task_belongs_to_one_worker_at_a_time(worqr: Any, new: New, clock: Clock) -> None:
    worqr.enqueue("a connection", "Q1")
    at_work(worqr, "Q1")
    started(worqr)
    peer = new("W2")
    for _ in range(20):
        clock.tick(2)
        worqr.keepWorkerAlive()
        at_work(peer, "Q1")
        assert peer.startTask("Q1") is None

    worqr.failWorker()

    assert started(peer).task == "a connection"


def test_invalid_options_are_refused(hr: Client) -> None:
    given: list[tuple[Any, Any]] = [(Worqr, None), (Worqr, b"redis://"), (AsyncWorqr, hr)]
    for kind, client in given:
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
            Worqr("redis://nowhere", **{name: value})
    with pytest.raises(InvalidArgument, match="omit redisKeyPrefix"):
        Worqr(hr, redisKeyPrefix="another")


def test_close_fails_the_workers_and_stops_the_threads(hr: Client, new: New) -> None:
    worqr = new(workerHeartbeatInterval=SOON)
    received = receiving(worqr)
    worqr.enqueue(["T0", "T1"], "Q1")
    at_work(worqr, "Q1", "Q2")
    expect(received, ("work", 2))
    started(worqr)

    worqr.close()

    assert not alive(hr)
    assert worqr.getTasks("Q1") == ["T0", "T1"]
    assert len(worqr.background._threads) == 4
    assert not [thread for thread in worqr.background._threads if thread.is_alive()]


def test_closed_instance_can_be_used_again(new: New) -> None:
    worqr = new()
    received = receiving(worqr)
    worqr.enqueue("T0", "Q1")
    for _ in range(3):
        at_work(worqr, "Q1")
        expect(received, ("work", 1))
        worqr.close()


def test_worker_of_a_closed_client_is_not_kept_alive(
    hr: Client, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with headrace.connect(url, namespace=hr.core.namespace, library=settable_clock()) as client:
        worqr = Worqr(client, workerId="W1", workerHeartbeatInterval=SOON)
        at_work(worqr, "Q1")

    eventually(
        lambda: not worqr.background.workers and not worqr.background.subscriptions,
        "the threads notice that the client is closed",
    )
    assert "worker 'W1' is not kept alive: its client is closed" in caplog.text
    worqr.close()


def test_workers_that_start_work_concurrently_receive_each_notice_once(worqr: Any) -> None:
    received = receiving(worqr)
    names = ("W1", "W2", "W3")
    for name in names:
        worqr.startWorker(name)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: worqr.startWork(name, "Q1"), names))

    worqr.enqueue("T0", "Q1")
    process = worqr.startTask("Q1", "W1")
    assert process is not None
    worqr.finishTask(process.id)

    done = {"workerId": "W1", "task": "T0", "result": None}
    expect(received, ("work", 1), ("done", done))
    for name in names:
        worqr.stopWork(name, "Q1")
    held = worqr.core.transport._held
    eventually(lambda: all(one.broken for one in held), "every subscription has ended")


def test_restarted_worker_has_lost_its_queues_and_tasks(hr: Client, worqr: Any) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue("T0", "Q1")
    started(worqr)

    worqr.startWorker()

    assert hr.workers.list()[0].queues == []
    assert worqr.getTasks("Q1") == ["T0"]
    assert worqr.background.subscriptions == {}


def test_instance_may_have_several_workers(hr: Client, worqr: Any) -> None:
    received = receiving(worqr)
    for name in ("W1", "W2"):
        worqr.startWorker(name)
        worqr.startWork(name, "Q1")
    worqr.enqueue("T0", "Q1")
    expect(received, ("work", 1))
    assert worqr.startTask("Q1", "W2").task == "T0"

    worqr.stopWork("W1", "Q1")
    worqr.enqueue("T1", "Q1")
    expect(received, ("work", 1))
    worqr.failWorker("W2")

    assert worqr.background.subscriptions == {}
    assert [worker.name for worker in hr.workers.list()] == ["W1"]
