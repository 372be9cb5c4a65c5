"""The drawings of the worqr document, one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Client, SessionEnded
from headrace.testing import Clock
from tests.compat.worqr.support.working import at_work, drained, expect, receiving, started
from tests.proof import proves
from tests.support.dump import dump

New = Callable[..., Any]


@proves("W-10")
def test_enqueue_adds_a_task_and_notifies(worqr: Any, new: New) -> None:
    received = receiving(worqr)
    at_work(worqr, "Q1")
    producer = new("W0")

    producer.enqueue("T0", "Q1")
    producer.enqueue("T1", "Q1")

    assert worqr.getTasks("Q1") == ["T0", "T1"]
    expect(received, ("work", 1), ("work", 1))


@proves("W-13", "W-14")
def test_start_task_moves_the_oldest_task_to_a_process_of_the_worker(
    hr: Client, worqr: Any
) -> None:
    worqr.enqueue(["T0", "T1"], "Q1")
    worqr.startWorker("W1")
    worqr.startWork("W1", "Q1")

    process = worqr.startTask("Q1", "W1")

    assert process.task == "T0"
    assert worqr.getTasks("Q1") == ["T1"]
    assert worqr.getProcesses() == [process.id]
    [worker] = hr.workers.list()
    assert (worker.name, worker.jobs) == ("W1", 1)


@proves("W-17", "WD-01")
def test_stop_task_returns_the_task_to_the_front(hr: Client, worqr: Any) -> None:
    worqr.enqueue(["T0", "T1"], "Q1")
    at_work(worqr, "Q1")
    process = started(worqr)

    worqr.stopTask(process.id)

    assert worqr.getTasks("Q1") == ["T0", "T1"]
    assert worqr.getProcesses() == []
    assert hr.workers.list()[0].jobs == 0


@proves("W-18", "WD-08")
def test_finish_task_removes_the_process_and_its_task(hr: Client, worqr: Any) -> None:
    worqr.enqueue(["T0", "T1"], "Q1")
    at_work(worqr, "Q1")
    process = started(worqr)

    worqr.finishTask(process.id)

    assert worqr.getProcesses() == []
    assert hr.workers.list()[0].jobs == 0
    assert drained(worqr) == ["T1"]


@proves("W-19", "WD-06")
def test_cancel_tasks_removes_equal_tasks_and_notifies(worqr: Any) -> None:
    worqr.enqueue(["T1", "T0", "T1", "T2"], "Q1")
    worqr.enqueue("T1", "Q2")
    received = receiving(worqr)
    at_work(worqr, "Q1")
    expect(received, ("work", 4))

    worqr.cancelTasks("Q1", "T1")

    assert worqr.getTasks("Q1") == ["T0", "T2"]
    assert worqr.getTasks("Q2") == ["T1"]
    expect(received, ("cancel", "T1"))


@proves("W-30")
def test_start_worker_registers_a_worker_for_3_seconds(
    hr: Client, worqr: Any, clock: Clock
) -> None:
    worqr.startWorker("W1")

    [worker] = hr.workers.list()
    assert (worker.name, worker.expires_in) == ("W1", 3)
    clock.tick(2.999)
    assert worqr.getWorkers() == ["W1"]
    clock.tick(0.001)
    hr.sweep()
    assert worqr.getWorkers() == []


@proves("W-31")
def test_keep_worker_alive_renews_3_seconds(hr: Client, worqr: Any, clock: Clock) -> None:
    worqr.startWorker("W1")

    for _ in range(5):
        clock.tick(2.9)
        worqr.keepWorkerAlive("W1")
        assert hr.workers.list()[0].expires_in == 3


@proves("W-32")
def test_expired_worker_must_restart(hr: Client, worqr: Any, clock: Clock) -> None:
    worqr.enqueue("T0", "Q1")
    at_work(worqr, "Q1")
    started(worqr)
    clock.tick(3)

    with pytest.raises(SessionEnded):
        worqr.keepWorkerAlive("W1")
    with pytest.raises(SessionEnded):
        worqr.startWork("W1", "Q1")

    at_work(worqr, "Q1")
    assert hr.workers.list()[0].expires_in == 3
    assert drained(worqr) == ["T0"]


@proves("W-33")
def test_start_work_registers_the_queue_and_notifies_of_waiting_tasks(
    hr: Client, worqr: Any
) -> None:
    worqr.enqueue(["T0", "T1"], "Q1")
    received = receiving(worqr)
    worqr.startWorker("W1")

    worqr.startWork("W1", "Q0")
    worqr.startWork("W1", "Q1")

    assert hr.workers.list()[0].queues == ["Q0", "Q1"]
    expect(received, ("work", 2))


@proves("W-33")
def test_start_work_is_refused_without_a_worker(hr: Client, worqr: Any) -> None:
    before = dump(hr)

    with pytest.raises(SessionEnded):
        worqr.startWork("W1", "Q1")

    assert dump(hr) == before


@proves("W-34", "WD-09")
def test_stop_work_returns_the_tasks_of_that_queue_only(hr: Client, worqr: Any) -> None:
    for queue in ("Q0", "Q1"):
        worqr.enqueue(["T0", "T1"], queue)
    at_work(worqr, "Q0", "Q1")
    kept, _ = started(worqr, "Q0"), started(worqr, "Q1")

    worqr.stopWork("W1", "Q1")

    assert hr.workers.list()[0].queues == ["Q0"]
    assert worqr.getTasks("Q1") == ["T0", "T1"]
    assert worqr.getProcesses() == [kept.id]


@proves("W-35", "W-03")
def test_fail_worker_deletes_the_worker_and_returns_all_its_tasks(
    hr: Client, worqr: Any, new: New
) -> None:
    peer = new("W0")
    received = receiving(peer)
    worqr.enqueue(["T0", "T1"], "Q1")
    worqr.enqueue("T0", "Q2")
    at_work(peer, "Q1")
    at_work(worqr, "Q1", "Q2")
    started(worqr)
    started(worqr, "Q2")
    expect(received, ("work", 2))

    worqr.failWorker("W1")

    assert peer.getWorkers() == ["W0"]
    assert peer.getProcesses() == []
    assert peer.getTasks("Q1") == ["T0", "T1"]
    assert peer.getTasks("Q2") == ["T0"]
    expect(received, ("work", 1))
    assert hr.audit().balanced
