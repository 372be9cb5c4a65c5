"""Tasks and processes: guarantees, reads and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import Client, InvalidArgument, JobExists, JobNotFound, LeaseLost, SessionRequired
from headrace.compat.worqr import Process, Worqr
from headrace.testing import Clock, open_with_clock
from tests.compat.worqr.conftest import NEVER
from tests.compat.worqr.support.working import at_work, drained, started
from tests.proof import proves
from tests.support.channels import commands, meanwhile
from tests.support.dump import dump

New = Callable[..., Any]


@proves("W-02", "WD-04", "WD-05")
def test_each_call_changes_everything_in_one_script(hr: Client, url: str) -> None:
    with Worqr(hr, workerId="W1", workerHeartbeatInterval=NEVER) as worqr:
        worqr.enqueue(["T0", "T1"], "Q1")
        worqr.startWorker()
        worqr.startWork("Q1")
        process = worqr.startTask("Q1")
        assert process is not None
        calls: dict[str, Callable[[], object]] = {
            "put": lambda: worqr.enqueue("T2", "Q1"),
            "release": lambda: worqr.stopTask(process.id),
            "pop": lambda: worqr.startTask("Q1"),
            "cancel_matching": lambda: worqr.cancelTasks("Q1", "T1"),
            "session_unserve": lambda: worqr.stopWork("Q1"),
            "session_end": worqr.failWorker,
        }
        reads = {hr.core.library.operations[name].name for name in ("get", "counts")}
        for op, call in calls.items():
            with commands(url) as sent:
                call()
            # A script that the server does not know yet is sent a second time.
            scripts = {line.split()[1] for line in sent if line.startswith("FCALL")}
            assert scripts - reads == {hr.core.library.operations[op].name}, op


@proves("W-04", "W-18")
def test_finished_task_leaves_no_keys(hr: Client, worqr: Any) -> None:
    at_work(worqr, "Q1")
    ends = ("events", "log", "agenda", "books:Q1")
    before = {key for key in dump(hr) if not key.endswith(ends)}
    for task in ("T0", "x" * 5000):
        worqr.enqueue(task, "Q1")
        process = started(worqr)
        worqr.stopTask(process.id)
        process = started(worqr)
        worqr.finishTask(process.id)

    assert {key for key in dump(hr) if not key.endswith(ends)} == before
    assert hr.queue("Q1").stats().run.count == 0
    assert hr.audit().balanced


@proves("W-05", "W-47")
def test_each_task_goes_to_one_worker(hr: Client) -> None:
    with Worqr(hr, workerId="W1") as first, Worqr(hr, workerId="W2") as second:
        for worqr in (first, second):
            worqr.startWorker()
            worqr.startWork("Q1")
        first.enqueue([str(number) for number in range(40)], "Q1")

        def work(worqr: Worqr) -> list[Any]:
            found = []
            while process := worqr.startTask("Q1"):
                found.append(process.task)
            return found

        with meanwhile(lambda: work(second)) as others:
            mine = work(first)

        assert sorted(mine + others.result()) == sorted(str(number) for number in range(40))
        assert first.startTask("Q1") is second.startTask("Q1") is None


@proves("W-06", "W-16")
@pytest.mark.parametrize("task", [b"", b"\0\xff\xc2", b"\xff" * 31, b"x" * 70_000])
def test_task_survives_the_round_trip_byte_for_byte(url: str, task: bytes) -> None:
    hr, _ = open_with_clock(url, codec="raw")
    with hr, Worqr(hr, workerId="W1") as worqr:
        worqr.startWorker()
        worqr.startWork("Q1")
        worqr.enqueue(task, "Q1")
        process = worqr.startTask("Q1")
        assert process is not None
        assert process.task == task
        [job] = hr.queue("Q1").jobs("running").jobs
        assert job.payload == task
        worqr.stopTask(process.id)
        assert worqr.peekTask("Q1") == task
        process = worqr.startTask("Q1")
        assert process is not None
        worqr.finishTask(process.id)


@proves("W-16")
def test_empty_text_is_a_task(worqr: Any) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue("", "Q1")
    assert worqr.peekTask("Q1") == ""

    process = started(worqr)

    assert process.task == ""
    worqr.finishTask(process.id)
    assert worqr.startTask("Q1") is None


@proves("W-08", "W-11")
def test_tasks_start_in_the_order_of_enqueue(worqr: Any) -> None:
    at_work(worqr, "Q1")

    worqr.enqueue("T0", "Q1")
    worqr.enqueue(["T1", "T2", "T3"], "Q1")
    worqr.enqueue([], "Q1")

    assert worqr.countTasks("Q1") == 4
    assert drained(worqr) == ["T0", "T1", "T2", "T3"]


@proves("W-12", "WD-13")
def test_equal_tasks_are_independent(worqr: Any) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue(["T", "T", "T"], "Q1")
    first, second = started(worqr), started(worqr)
    assert first.id != second.id

    worqr.finishTask(first.id)

    assert worqr.getMatchingProcesses("T") == [second.id]
    assert worqr.countTasks("Q1") == 1


@proves("W-14", "WD-05")
def test_start_task_in_an_empty_queue_changes_nothing(hr: Client, worqr: Any) -> None:
    at_work(worqr, "Q1")
    before = dump(hr)

    assert worqr.startTask("Q1") is None

    assert dump(hr) == before


@proves("W-14")
def test_dequeue_is_an_alias_of_start_task(worqr: Any) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue("T0", "Q1")

    process = worqr.dequeue("Q1")

    assert isinstance(process, Process)
    assert process == (process.id, "T0")


@proves("W-15", "WL-03")
def test_start_task_without_start_work_is_refused(hr: Client, worqr: Any, new: New) -> None:
    worqr.enqueue("T0", "Q1")
    before = dump(hr)
    for queue in ("Q1", "nobody has used it"):
        with pytest.raises(SessionRequired):
            worqr.startTask(queue)
    assert dump(hr) == before

    at_work(worqr, "Q2")
    with pytest.raises(SessionRequired):
        worqr.startTask("Q1")

    # An instance may start tasks for a worker that was started elsewhere.
    worqr.startWork("Q1")
    process = new("W9").startTask("Q1", "W1")
    assert process.task == "T0"
    assert hr.workers.list()[0].jobs == 1


@proves("W-21", "W-41")
def test_ended_process_is_refused_and_nothing_changes(hr: Client, worqr: Any) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue(["T0", "T1"], "Q1")
    gone, stopped = started(worqr), started(worqr)
    worqr.finishTask(gone.id)
    worqr.stopTask(stopped.id)
    present = started(worqr)
    assert present.task == "T1"
    before = dump(hr)

    for end in (worqr.stopTask, worqr.finishTask):
        with pytest.raises(JobNotFound):
            end(gone.id)
        with pytest.raises(LeaseLost, match="W1"):
            end(stopped.id)

    assert dump(hr) == before
    worqr.finishTask(present.id)


@proves("W-22")
def test_reads_change_nothing(hr: Client, worqr: Any) -> None:
    at_work(worqr, "Q1", "Q2")
    worqr.enqueue(["T0", "T1", "T2"], "Q1")
    worqr.enqueue("T0", "Q2")
    first, second = started(worqr), started(worqr, "Q2")
    before = dump(hr)

    assert worqr.getQueues() == ["Q1", "Q2"]
    assert worqr.countTasks("Q1") == 2
    assert worqr.peekTask("Q1") == "T1"
    assert worqr.peekTask("Q2") is None
    assert worqr.getTasks("Q1") == ["T1", "T2"]
    assert worqr.getWorkers() == ["W1"]
    assert worqr.getProcesses() == [first.id, second.id]
    assert worqr.getMatchingProcesses("T0") == [first.id, second.id]
    assert worqr.getMatchingProcesses("T1") == []
    assert worqr.countTasks("nobody has used it") == 0

    assert dump(hr) == before


@proves("WD-02", "W-36")
def test_returned_tasks_keep_their_order(worqr: Any, new: New) -> None:
    peer = at_work(new("W0"), "Q1")
    at_work(worqr, "Q1")
    (worqr.enqueue([f"T{number}" for number in range(9)], "Q1"))
    mine = [started(each) for each in (worqr, peer, worqr, worqr, peer)]
    worqr.enqueue("T9", "Q1")

    peer.stopTask(mine[4].id)
    worqr.failWorker()
    peer.stopTask(mine[1].id)

    assert drained(peer) == [f"T{number}" for number in range(10)]


@proves("WD-14")
def test_task_that_kills_workers_is_retried_up_to_the_limit(
    hr: Client, worqr: Any, clock: Clock
) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue("poison", "Q1")
    for _ in range(20):
        assert started(worqr).task == "poison"
        clock.tick(3)
        at_work(worqr, "Q1")

    hr.queue("Q1").configure(retries=2)
    worqr.enqueue("deadly", "Q1")
    worqr.finishTask(started(worqr).id)
    for _ in range(3):
        assert started(worqr).task == "deadly"
        clock.tick(3)
        at_work(worqr, "Q1")
    assert worqr.startTask("Q1") is None
    assert hr.queue("Q1").counts().failed == 1


@proves("WD-15")
@pytest.mark.parametrize("name", ["a_b", "worqr:queues", "ä {1}", "*", "x" * 245])
def test_names_may_have_any_printable_character(hr: Client, name: str) -> None:
    with Worqr(hr, workerId=f"{name}_W1") as worqr:
        worqr.enqueue("T", name)
        worqr.startWorker()
        worqr.startWork(name)
        process = worqr.startTask(name)
        assert process is not None
        assert worqr.getQueues() == [name]
        assert worqr.getWorkers() == [f"{name}_W1"]
        assert worqr.getProcesses() == worqr.getMatchingProcesses("T") == [process.id]
        worqr.stopTask(process.id)
        assert worqr.countTasks(name) == 1


@proves("WL-01")
def test_unique_task_is_refused_until_the_first_is_finished(hr: Client, worqr: Any) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue("T", "Q1", unique=True)
    before = dump(hr)
    with pytest.raises(JobExists):
        worqr.enqueue("T", "Q1", unique=True)
    assert dump(hr) == before

    worqr.enqueue("T", "Q1")
    worqr.enqueue("T", "Q2", unique=True)
    unique, plain = started(worqr), started(worqr)
    worqr.finishTask(plain.id)
    with pytest.raises(JobExists):
        worqr.enqueue("T", "Q1", unique=True)
    worqr.finishTask(unique.id)
    worqr.enqueue("T", "Q1", unique=True)
    worqr.cancelTasks("Q1", "T")
    worqr.enqueue(["T", "S"], "Q1", unique=True)
    worqr.deleteQueue("Q1")
    worqr.enqueue("T", "Q1", unique=True)
    assert hr.audit().balanced


def test_invalid_arguments_change_nothing(hr: Client, worqr: Any) -> None:
    at_work(worqr, "Q1")
    before = dump(hr)

    wrong: list[Callable[[], object]] = [
        lambda: worqr.enqueue("T", ""),
        lambda: worqr.startTask(7),
        lambda: worqr.startTask("Q1", ""),
        lambda: worqr.cancelTasks("Q1", {}),
        lambda: worqr.startWork("W1", "\n"),
        lambda: worqr.failWorker(""),
        lambda: worqr.stopTask(None),
        lambda: worqr.finishTask("Q1"),
        lambda: worqr.finishTask("x_1"),
        lambda: worqr.finishTask("9" * 5000 + "_x"),
        lambda: worqr.stopTask("1_"),
        lambda: worqr.stopTask("1_\n"),
        lambda: worqr.on("Q1", "no function"),
        lambda: worqr.on("", print),
    ]
    for call in wrong:
        with pytest.raises(InvalidArgument):
            call()

    assert dump(hr) == before


def test_every_method_works_on_several_shards(url: str) -> None:
    hr, clock = open_with_clock(url, shards=3)
    with hr, Worqr(hr, workerId="W1") as worqr:
        worqr.startWorker()
        worqr.startWork("Q1")
        worqr.enqueue([{"number": number} for number in range(12)], "Q1")
        processes = [worqr.startTask("Q1") for _ in range(12)]
        assert {process.task["number"] for process in processes if process} == set(range(12))
        assert len(worqr.getProcesses()) == 12
        for process in processes[:6]:
            assert process is not None
            worqr.finishTask(process.id)
        clock.tick(1)
        worqr.keepWorkerAlive()
        worqr.cancelTasks("Q1", {"number": -1})
        worqr.failWorker()
        assert (worqr.countTasks("Q1"), len(worqr.getTasks("Q1"))) == (6, 6)
        worqr.deleteQueue("Q1")
        assert worqr.getQueues() == []
        assert hr.audit().balanced
