"""What handlers hear: work, cancel, delete and done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import headrace
from headrace import Client, JobNotFound, QueueNotFound
from headrace.compat.worqr import AsyncWorqr, Worqr, notices
from headrace.testing import Clock, open_with_clock
from tests.dialects.worqr.working import at_work, drained, eventually, hearing, hears, started
from tests.proof import proves
from tests.support.channels import commands, listening
from tests.support.clients import got
from tests.support.dump import dump

New = Callable[..., Any]


@proves("W-07", "W-11")
async def test_new_work_is_heard_at_once_and_nobody_polls(hr: Client, worqr: Any, url: str) -> None:
    heard = hearing(worqr)
    await at_work(worqr, "Q1")
    await got(worqr.enqueue(["T", "T"], "Q1"))
    await hears(heard, ("work", 2))

    with commands(url) as sent:
        await got(worqr.enqueue(["T0", "T1", "T2"], "Q1"))
        await hears(heard, ("work", 3))

    put = hr.core.library["put"].sha
    assert [line.split()[1] for line in sent] == [hr.core.key(0, "settings:Q1"), put]


@proves("W-46", "WD-07")
async def test_a_queue_has_one_channel_and_a_worker_another(
    hr: Client, worqr: Any, url: str
) -> None:
    await at_work(worqr, "Q1")
    with listening(hr, url, "queue:Q1", "worker:W1") as subscription:
        await got(worqr.enqueue(["T0", "T1"], "Q1"))
        process = await started(worqr)
        await got(worqr.cancelTasks("Q1", "T0"))
        await got(worqr.deleteQueue("Q1"))
        heard = subscription.heard()

    of_queue = [message for channel, message in heard if channel == "queue:Q1"]
    assert of_queue == [b"work 2", b"cancelled T0", b"deleted"]
    [of_worker] = [message for channel, message in heard if channel == "worker:W1"]
    assert process.id.partition("_")[2].encode() in of_worker


@proves("W-20", "WD-10")
async def test_a_task_that_is_cancelled_while_it_runs_is_over_and_its_worker_hears(
    hr: Client, worqr: Any, new: New
) -> None:
    heard = hearing(worqr)
    await at_work(worqr, "Q1")
    await got(worqr.enqueue("T0", "Q1"))
    process = await started(worqr)
    await hears(heard, ("work", 1))

    await got(new("W9").cancelTasks("Q1", "T0"))

    await hears(heard, ("cancel", "T0"))
    assert await got(worqr.getMatchingProcesses("T0")) == []
    before = dump(hr)
    for end in (worqr.stopTask, worqr.finishTask):
        with pytest.raises(JobNotFound):
            await got(end(process.id))
    assert dump(hr) == before
    assert await got(worqr.startTask("Q1")) is None


async def test_of_a_large_task_that_is_cancelled_it_is_heard_that_one_was(worqr: Any) -> None:
    heard = hearing(worqr)
    await at_work(worqr, "Q1")
    await got(worqr.enqueue("x" * 20_000, "Q1"))
    await hears(heard, ("work", 1))

    await got(worqr.cancelTasks("Q1", "x" * 20_000))

    await hears(heard, ("cancel", None))


@proves("W-23")
async def test_a_queue_that_is_deleted_is_told_of_and_made_anew_by_the_next_task(
    hr: Client, worqr: Any
) -> None:
    heard = hearing(worqr)
    await at_work(worqr, "Q1")
    await got(worqr.enqueue(["T0", "T1"], "Q1"))
    await started(worqr)
    await hears(heard, ("work", 2))

    await got(worqr.deleteQueue("Q1"))

    await hears(heard, ("delete", None))
    assert await got(worqr.getQueues()) == await got(worqr.getProcesses()) == []
    assert not hr.feeds.list()
    await got(worqr.stopWork("Q1"))
    await got(worqr.enqueue("T2", "Q1"))
    assert hr.queue("Q1").settings()["session"] == "required"
    await got(worqr.startWork("Q1"))
    assert await drained(worqr) == ["T2"]
    with pytest.raises(QueueNotFound):
        await got(worqr.deleteQueue("Q2"))


@proves("WD-11")
async def test_whatever_makes_a_task_wait_is_heard(
    hr: Client, worqr: Any, new: New, clock: Clock
) -> None:
    peer = new("W2")
    await at_work(peer, "Q1")
    heard = hearing(peer)
    await got(worqr.enqueue("T0", "Q1"))
    await at_work(worqr, "Q1")
    await hears(heard, ("work", 1))

    await got(worqr.stopTask((await started(worqr)).id))
    await hears(heard, ("work", 1))
    await started(worqr)
    await got(worqr.stopWork("Q1"))
    await hears(heard, ("work", 1))
    await got(worqr.startWork("Q1"))
    await started(worqr)
    await got(worqr.failWorker())
    await hears(heard, ("work", 1))
    await at_work(worqr, "Q1")
    await started(worqr)
    clock.tick(3)
    hr.sweep()
    await hears(heard, ("work", 1))


@proves("WD-12")
async def test_who_was_cut_off_looks_when_it_is_back(hr: Client, worqr: Any) -> None:
    heard = hearing(worqr)
    await at_work(worqr, "Q1")
    await got(worqr.enqueue("T0", "Q1"))
    await hears(heard, ("work", 1))

    hr.core.transport.send([(0, ("CLIENT", "KILL", "TYPE", "pubsub"))])

    await hears(heard, ("work", 1))


@proves("WD-12")
async def test_who_hears_nothing_looks_now_and_then(
    worqr: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "LOOK_EVERY", 0.01)
    heard = hearing(worqr)
    await got(worqr.enqueue("T0", "Q1"))
    await at_work(worqr, "Q1")

    await eventually(lambda: len(heard) > 3, "it has looked again and again")

    assert set(heard) == {("work", 1)}
    await got(worqr.stopWork("Q1"))


@proves("W-48", "WL-03")
async def test_who_asks_for_work_hears_how_much_there_is(worqr: Any) -> None:
    heard = hearing(worqr)
    await at_work(worqr, "Q1")
    await got(worqr.requestWork("Q1"))
    await got(worqr.enqueue(["T0", "T1", "T2"], "Q1"))
    await hears(heard, ("work", 3))
    await got(worqr.finishTask((await started(worqr)).id))
    await hears(heard, ("done", {"workerId": "W1", "task": "T0", "result": None}))

    await got(worqr.requestWork("Q1"))

    await hears(heard, ("work", 2))


@proves("WL-02")
async def test_who_works_on_a_queue_hears_what_others_have_done(
    hr: Client, worqr: Any, new: New
) -> None:
    peer = new("W2")
    heard = hearing(peer)
    await at_work(peer, "Q1")
    await at_work(worqr, "Q1", "Q2")
    await got(worqr.enqueue(["T0", "\udcff"], "Q1"))
    await got(worqr.enqueue("T0", "Q2"))
    await hears(heard, ("work", 2))

    process = await started(worqr)
    await got(worqr.finishTask(process.id, "some result"))
    await got(worqr.finishTask((await started(worqr)).id))
    await got(worqr.finishTask((await started(worqr, "Q2")).id))

    await hears(
        heard,
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
async def test_what_is_done_is_told_in_the_codec_of_the_client(
    url: str, codec: str, task: Any, result: Any
) -> None:
    hr, _ = open_with_clock(url, codec=codec)
    with hr, Worqr(hr, workerId="W1") as worqr:
        heard = hearing(worqr)
        worqr.startWorker()
        worqr.startWork("Q1")
        for given in (result, None):
            worqr.enqueue(task, "Q1")
            process = worqr.startTask("Q1")
            assert process is not None
            worqr.finishTask(process.id, given)

        await hears(
            heard,
            ("work", 1),
            ("done", {"workerId": "W1", "task": task, "result": result}),
            ("work", 1),
            ("done", {"workerId": "W1", "task": task, "result": None}),
        )


@proves("WL-02")
async def test_what_is_done_is_told_by_a_notice_alone(hr: Client, worqr: Any, url: str) -> None:
    await at_work(worqr, "Q1")
    await got(worqr.enqueue(["T0", "T1"], "Q1"))
    await got(worqr.finishTask((await started(worqr)).id, "result"))
    process = await started(worqr)

    with commands(url) as sent:
        await got(worqr.finishTask(process.id, "result"))

    scripts = [hr.core.library[op].sha for op in ("get", "complete")]
    assert [line.split()[1] for line in sent] == [*scripts, hr.core.key(0, "done:Q1")]
    assert not hr.feeds.list()


@proves("WL-02")
async def test_who_stays_when_a_queue_is_deleted_goes_on_to_hear_what_is_done(worqr: Any) -> None:
    heard = hearing(worqr)
    await at_work(worqr, "Q1")
    await got(worqr.enqueue("T0", "Q1"))
    await got(worqr.deleteQueue("Q1"))
    await got(worqr.enqueue("T1", "Q1"))

    await got(worqr.finishTask((await started(worqr)).id))

    done = {"workerId": "W1", "task": "T1", "result": None}
    await hears(heard, ("work", 1), ("delete", None), ("work", 1), ("done", done))


@proves("WD-12")
@pytest.mark.parametrize(
    ("channel", "message"),
    [("queue", "work"), ("queue", "work many"), ("done", "x"), ("done", b"\x93\x01\x02\x03")],
)
async def test_a_notice_that_makes_no_sense_is_left_out(
    hr: Client, worqr: Any, caplog: pytest.LogCaptureFixture, channel: str, message: str | bytes
) -> None:
    heard = hearing(worqr)
    await at_work(worqr, "Q1")

    hr.core.transport.send([(0, ("SPUBLISH", hr.core.key(0, f"{channel}:Q1"), message))])
    await got(worqr.enqueue("T0", "Q1"))

    await hears(heard, ("work", 1))
    assert "a notice of queue 'Q1' is left out" in caplog.text


async def test_what_another_codec_has_written_makes_nobody_deaf(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    hr, _ = open_with_clock(url)
    with (
        hr,
        headrace.connect(url, namespace=hr.core.namespace, codec="raw") as other,
        Worqr(hr, workerId="W1") as worqr,
    ):
        heard = hearing(worqr)
        worqr.startWorker()
        worqr.startWork("Q1")
        other.queue("Q1").put(b"\xff")
        await hears(heard, ("work", 1))

        other.queue("Q1").cancel_matching(b"\xff")
        worqr.enqueue("T0", "Q1")

        await hears(heard, ("work", 1))
        assert "another codec wrote it" in caplog.text
        assert "nothing is heard" not in caplog.text


# handlers


async def test_a_handler_may_do_the_work(hr: Client, new: New) -> None:
    """The example of its authors: do one task, then ask for more."""
    worqr = new()
    done: list[Any] = []

    def work(kind: str, _message: Any) -> None:
        if kind == "work" and (process := worqr.startTask("Q1")):
            done.append(process.task)
            worqr.finishTask(process.id)
            worqr.requestWork("Q1")

    async def work_awaiting(kind: str, _message: Any) -> None:
        if kind == "work" and (process := await worqr.startTask("Q1")):
            done.append(process.task)
            await worqr.finishTask(process.id)
            await worqr.requestWork("Q1")

    worqr.on("Q1", work_awaiting if isinstance(worqr, AsyncWorqr) else work)
    tasks = [f"T{number}" for number in range(60)]
    await got(worqr.enqueue(tasks, "Q1"))

    await at_work(worqr, "Q1")

    await eventually(lambda: len(done) == 60, "all is done")
    assert sorted(done) == sorted(tasks)
    await eventually(lambda: hr.queue("Q1").length() == 0, "all is finished")


async def test_a_handler_that_fails_keeps_no_other_from_hearing(
    worqr: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_kind: str, _message: Any) -> None:
        raise ValueError("no good")

    async def fail_later(_kind: str, _message: Any) -> None:
        await asyncio.sleep(0)
        raise ValueError("no good either")

    worqr.on("Q1", fail)
    if isinstance(worqr, AsyncWorqr):
        worqr.on("Q1", fail_later)
    heard = hearing(worqr)
    await at_work(worqr, "Q1")

    for _ in range(2):
        await got(worqr.enqueue("T0", "Q1"))
        await hears(heard, ("work", 1))

    await eventually(lambda: caplog.text.count("ValueError: no good") >= 2, "it is logged")
    assert "a handler of queue 'Q1' failed" in caplog.text


async def test_a_handler_can_be_taken_away(worqr: Any) -> None:
    gone: list[Any] = []

    def handler(*notice: Any) -> None:
        gone.append(notice)

    worqr.on("Q1", handler)
    heard = hearing(worqr)
    worqr.removeListener("Q1", handler)
    worqr.removeListener("Q1", handler)
    worqr.removeListener("Q2", handler)
    await at_work(worqr, "Q1")

    await got(worqr.enqueue("T0", "Q1"))

    await hears(heard, ("work", 1))
    assert gone == []


async def test_a_handler_may_stop_the_work(worqr: Any, hr: Client) -> None:
    async def stop_awaiting(kind: str, _message: Any) -> None:
        if kind == "delete":
            await worqr.stopWork("Q1")

    def stop(kind: str, _message: Any) -> None:
        if kind == "delete":
            worqr.stopWork("Q1")

    worqr.on("Q1", stop_awaiting if isinstance(worqr, AsyncWorqr) else stop)
    await got(worqr.enqueue("T0", "Q1"))
    await at_work(worqr, "Q1")

    await got(worqr.deleteQueue("Q1"))

    await eventually(lambda: hr.workers.list()[0].queues == [], "it has stopped")
    await eventually(lambda: worqr.crew.posts == {}, "nothing is heard any more")


async def test_nothing_is_heard_after_stop_work(worqr: Any, new: New) -> None:
    heard, others = hearing(worqr), hearing(worqr, "Q2")
    await at_work(worqr, "Q1", "Q2")
    await got(worqr.stopWork("Q1"))

    await got(new("W9").enqueue("T0", "Q1"))
    await got(new("W9").enqueue("T0", "Q2"))

    await hears(others, ("work", 1))
    assert heard == []
