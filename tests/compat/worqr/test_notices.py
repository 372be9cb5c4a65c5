"""The notices that handlers receive: work, cancel, delete and done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headrace
from headrace import Client, JobNotFound, QueueNotFound
from headrace.compat.worqr import Worqr, notices
from headrace.testing import Clock, open_with_clock
from tests.compat.worqr.support.working import (
    at_work,
    drained,
    eventually,
    expect,
    receiving,
    started,
)
from tests.proof import proves
from tests.support.channels import commands, listening
from tests.support.dump import dump

New = Callable[..., Any]


@proves("W-07", "W-11")
def test_new_work_is_notified_without_polling(hr: Client, worqr: Any, url: str) -> None:
    received = receiving(worqr)
    at_work(worqr, "Q1")
    worqr.enqueue(["T", "T"], "Q1")
    expect(received, ("work", 2))

    with commands(url) as sent:
        worqr.enqueue(["T0", "T1", "T2"], "Q1")
        expect(received, ("work", 3))

    put = hr.core.library.operations["put"].name
    assert [line.split()[1] for line in sent] == [hr.core.key(0, "settings:Q1"), put]


@proves("W-46", "WD-07")
def test_queue_and_worker_have_separate_channels(hr: Client, worqr: Any, url: str) -> None:
    at_work(worqr, "Q1")
    with listening(hr, url, "queue:Q1", "worker:W1") as subscription:
        worqr.enqueue(["T0", "T1"], "Q1")
        process = started(worqr)
        worqr.cancelTasks("Q1", "T0")
        worqr.deleteQueue("Q1")
        received = subscription.heard()

    of_queue = [message for channel, message in received if channel == "queue:Q1"]
    assert of_queue == [b"work 2", b"cancelled T0", b"deleted"]
    [of_worker] = [message for channel, message in received if channel == "worker:W1"]
    assert process.id.partition("_")[2].encode() in of_worker


@proves("W-20", "WD-10")
def test_cancelled_running_task_is_removed_and_its_worker_notified(
    hr: Client, worqr: Any, new: New
) -> None:
    received = receiving(worqr)
    at_work(worqr, "Q1")
    worqr.enqueue("T0", "Q1")
    process = started(worqr)
    expect(received, ("work", 1))

    new("W9").cancelTasks("Q1", "T0")

    expect(received, ("cancel", "T0"))
    assert worqr.getMatchingProcesses("T0") == []
    before = dump(hr)
    for end in (worqr.stopTask, worqr.finishTask):
        with pytest.raises(JobNotFound):
            end(process.id)
    assert dump(hr) == before
    assert worqr.startTask("Q1") is None


def test_cancel_notice_of_a_large_task_has_no_task(worqr: Any) -> None:
    received = receiving(worqr)
    at_work(worqr, "Q1")
    worqr.enqueue("x" * 20_000, "Q1")
    expect(received, ("work", 1))

    worqr.cancelTasks("Q1", "x" * 20_000)

    expect(received, ("cancel", None))


@proves("W-23")
def test_deleted_queue_is_notified_and_recreated_by_the_next_task(hr: Client, worqr: Any) -> None:
    received = receiving(worqr)
    at_work(worqr, "Q1")
    worqr.enqueue(["T0", "T1"], "Q1")
    started(worqr)
    expect(received, ("work", 2))

    worqr.deleteQueue("Q1")

    expect(received, ("delete", None))
    assert worqr.getQueues() == worqr.getProcesses() == []
    assert not hr.feeds.list()
    worqr.stopWork("Q1")
    worqr.enqueue("T2", "Q1")
    assert hr.queue("Q1").settings()["session"] == "required"
    worqr.startWork("Q1")
    assert drained(worqr) == ["T2"]
    with pytest.raises(QueueNotFound):
        worqr.deleteQueue("Q2")


@proves("WD-11")
def test_every_return_of_a_task_is_notified(hr: Client, worqr: Any, new: New, clock: Clock) -> None:
    peer = new("W2")
    at_work(peer, "Q1")
    received = receiving(peer)
    worqr.enqueue("T0", "Q1")
    at_work(worqr, "Q1")
    expect(received, ("work", 1))

    worqr.stopTask(started(worqr).id)
    expect(received, ("work", 1))
    started(worqr)
    worqr.stopWork("Q1")
    expect(received, ("work", 1))
    worqr.startWork("Q1")
    started(worqr)
    worqr.failWorker()
    expect(received, ("work", 1))
    at_work(worqr, "Q1")
    started(worqr)
    clock.tick(3)
    hr.sweep()
    expect(received, ("work", 1))


@proves("WD-12")
def test_worker_checks_for_tasks_after_a_broken_connection(hr: Client, worqr: Any) -> None:
    received = receiving(worqr)
    at_work(worqr, "Q1")
    worqr.enqueue("T0", "Q1")
    expect(received, ("work", 1))

    hr.core.transport.send([(0, ("CLIENT", "KILL", "TYPE", "pubsub"))])

    expect(received, ("work", 1))


@proves("WD-12")
def test_worker_checks_for_tasks_after_a_silence(
    worqr: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "CHECK_EVERY", 0.01)
    received = receiving(worqr)
    worqr.enqueue("T0", "Q1")
    at_work(worqr, "Q1")

    eventually(lambda: len(received) > 3, "it has looked again and again")

    assert set(received) == {("work", 1)}
    worqr.stopWork("Q1")


@proves("W-48", "WL-03")
def test_request_work_notifies_of_the_number_of_tasks(worqr: Any) -> None:
    received = receiving(worqr)
    at_work(worqr, "Q1")
    worqr.requestWork("Q1")
    worqr.enqueue(["T0", "T1", "T2"], "Q1")
    expect(received, ("work", 3))
    worqr.finishTask(started(worqr).id)
    expect(received, ("done", {"workerId": "W1", "task": "T0", "result": None}))

    worqr.requestWork("Q1")

    expect(received, ("work", 2))


@proves("WL-02")
def test_workers_of_a_queue_are_notified_of_finished_tasks(
    hr: Client, worqr: Any, new: New
) -> None:
    peer = new("W2")
    received = receiving(peer)
    at_work(peer, "Q1")
    at_work(worqr, "Q1", "Q2")
    worqr.enqueue(["T0", "\udcff"], "Q1")
    worqr.enqueue("T0", "Q2")
    expect(received, ("work", 2))

    process = started(worqr)
    worqr.finishTask(process.id, "some result")
    worqr.finishTask(started(worqr).id)
    worqr.finishTask(started(worqr, "Q2").id)

    expect(
        received,
        ("done", {"workerId": "W1", "task": "T0", "result": "some result"}),
        ("done", {"workerId": "W1", "task": "\udcff", "result": None}),
    )
    [kept] = hr.core.transport.send([(0, ("GET", hr.core.key(0, f"result:{process.id[2:]}")))])
    assert kept == b"some result"
    assert hr.audit().balanced


@proves("WL-02")
@pytest.mark.parametrize(
    ("codec", "task", "result"),
    [("json", {"to": "ada"}, [1, None]), ("msgpack", b"\xff", {}), ("raw", b"\xff", b"\0\xfe")],
)
def test_done_notice_uses_the_codec_of_the_client(
    url: str, codec: str, task: Any, result: Any
) -> None:
    hr, _ = open_with_clock(url, codec=codec)
    with hr, Worqr(hr, workerId="W1") as worqr:
        received = receiving(worqr)
        worqr.startWorker()
        worqr.startWork("Q1")
        for given in (result, None):
            worqr.enqueue(task, "Q1")
            process = worqr.startTask("Q1")
            assert process is not None
            worqr.finishTask(process.id, given)

        expect(
            received,
            ("work", 1),
            ("done", {"workerId": "W1", "task": task, "result": result}),
            ("work", 1),
            ("done", {"workerId": "W1", "task": task, "result": None}),
        )


@proves("WL-02")
def test_done_notice_is_one_publish(hr: Client, worqr: Any, url: str) -> None:
    at_work(worqr, "Q1")
    worqr.enqueue(["T0", "T1"], "Q1")
    worqr.finishTask(started(worqr).id, "result")
    process = started(worqr)

    with commands(url) as sent:
        worqr.finishTask(process.id, "result")

    scripts = [hr.core.library.operations[op].name for op in ("get", "complete")]
    assert [line.split()[1] for line in sent] == [*scripts, hr.core.key(0, "done:Q1")]
    assert not hr.feeds.list()


@proves("WL-02")
def test_worker_receives_done_notices_after_the_queue_was_deleted(worqr: Any) -> None:
    received = receiving(worqr)
    at_work(worqr, "Q1")
    worqr.enqueue("T0", "Q1")
    worqr.deleteQueue("Q1")
    worqr.enqueue("T1", "Q1")

    worqr.finishTask(started(worqr).id)

    done = {"workerId": "W1", "task": "T1", "result": None}
    expect(received, ("work", 1), ("delete", None), ("work", 1), ("done", done))


@proves("WD-12")
@pytest.mark.parametrize(
    ("channel", "message"),
    [("queue", "work"), ("queue", "work many"), ("done", "x"), ("done", b"\x93\x01\x02\x03")],
)
def test_invalid_notice_is_ignored(
    hr: Client, worqr: Any, caplog: pytest.LogCaptureFixture, channel: str, message: str | bytes
) -> None:
    received = receiving(worqr)
    at_work(worqr, "Q1")

    hr.core.transport.send([(0, ("SPUBLISH", hr.core.key(0, f"{channel}:Q1"), message))])
    worqr.enqueue("T0", "Q1")

    expect(received, ("work", 1))
    assert "ignored a notice of queue 'Q1'" in caplog.text


def test_notice_of_another_codec_is_ignored(url: str, caplog: pytest.LogCaptureFixture) -> None:
    hr, _ = open_with_clock(url)
    with (
        hr,
        headrace.connect(url, namespace=hr.core.namespace, codec="raw") as other,
        Worqr(hr, workerId="W1") as worqr,
    ):
        received = receiving(worqr)
        worqr.startWorker()
        worqr.startWork("Q1")
        other.queue("Q1").put(b"\xff")
        expect(received, ("work", 1))

        other.queue("Q1").cancel_matching(b"\xff")
        worqr.enqueue("T0", "Q1")

        expect(received, ("work", 1))
        assert "another codec wrote it" in caplog.text
        assert "cannot receive notices" not in caplog.text


# Handlers.


def test_handler_may_start_and_finish_tasks(hr: Client, new: New) -> None:
    """The example of the worqr authors: finish one task, then request more work."""
    worqr = new()
    done: list[Any] = []

    def work(kind: str, _message: Any) -> None:
        if kind == "work" and (process := worqr.startTask("Q1")):
            done.append(process.task)
            worqr.finishTask(process.id)
            worqr.requestWork("Q1")

    worqr.on("Q1", work)
    tasks = [f"T{number}" for number in range(60)]
    worqr.enqueue(tasks, "Q1")

    at_work(worqr, "Q1")

    eventually(lambda: len(done) == 60, "all is done")
    assert sorted(done) == sorted(tasks)
    eventually(lambda: hr.queue("Q1").length() == 0, "all is finished")


def test_handler_that_fails_does_not_stop_the_others(
    worqr: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_kind: str, _message: Any) -> None:
        raise ValueError("no good")

    worqr.on("Q1", fail)
    received = receiving(worqr)
    at_work(worqr, "Q1")

    for _ in range(2):
        worqr.enqueue("T0", "Q1")
        expect(received, ("work", 1))

    eventually(lambda: caplog.text.count("ValueError: no good") >= 2, "it is logged")
    assert "a handler of queue 'Q1' failed" in caplog.text


def test_removed_handler_is_not_called(worqr: Any) -> None:
    gone: list[Any] = []

    def handler(*notice: Any) -> None:
        gone.append(notice)

    worqr.on("Q1", handler)
    received = receiving(worqr)
    worqr.removeListener("Q1", handler)
    worqr.removeListener("Q1", handler)
    worqr.removeListener("Q2", handler)
    at_work(worqr, "Q1")

    worqr.enqueue("T0", "Q1")

    expect(received, ("work", 1))
    assert gone == []


def test_handler_may_stop_work(worqr: Any, hr: Client) -> None:
    def stop(kind: str, _message: Any) -> None:
        if kind == "delete":
            worqr.stopWork("Q1")

    worqr.on("Q1", stop)
    worqr.enqueue("T0", "Q1")
    at_work(worqr, "Q1")

    worqr.deleteQueue("Q1")

    eventually(lambda: hr.workers.list()[0].queues == [], "it has stopped")
    eventually(lambda: worqr.background.subscriptions == {}, "the subscription has ended")


def test_handlers_are_not_called_after_stop_work(worqr: Any, new: New) -> None:
    received, others = receiving(worqr), receiving(worqr, "Q2")
    at_work(worqr, "Q1", "Q2")
    worqr.stopWork("Q1")

    new("W9").enqueue("T0", "Q1")
    new("W9").enqueue("T0", "Q2")

    expect(others, ("work", 1))
    assert received == []
