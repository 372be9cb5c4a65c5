"""app.inlined runs calls at once, without a server."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import msgspec
import pytest

import headrace

NOWHERE = "redis://localhost:1"


class Order(msgspec.Struct):
    number: int
    placed: datetime


@pytest.fixture
def app() -> headrace.App:
    return headrace.App("shop", url=NOWHERE)


def test_put_runs_at_once_and_the_result_can_be_read(app: headrace.App) -> None:
    @app.task()
    def double(number: int) -> int:
        return 2 * number

    with app.inlined() as runs:
        job_id = double.put(4)
        ids = double.put_many([{"number": 1}, {"number": 2}])
        assert double.result(job_id) == 8
        assert [double.result(one) for one in ids] == [2, 4]

    assert [(one.task, one.id, one.outcome, one.result) for one in runs] == [
        ("double", job_id, "completed", 8),
        ("double", ids[0], "completed", 2),
        ("double", ids[1], "completed", 4),
    ]
    assert app.inline is None


def test_arguments_and_results_pass_through_the_codec(app: headrace.App) -> None:
    order = Order(1, datetime(2026, 1, 1, tzinfo=UTC))
    seen = []

    @app.task()
    def confirm(order: Order, lines: list[str]) -> tuple[int, str]:
        seen.append(order)
        lines.append("changed")
        return order.number, "ok"

    lines = ["one"]
    with app.inlined():
        job_id = confirm.put(order, lines=lines)
        assert confirm.result(job_id) == (1, "ok")
        with pytest.raises(headrace.InvalidArgument, match="confirm"):
            confirm.put(order, lines=3)  # type: ignore[arg-type]

    assert seen == [order]
    assert seen[0] is not order
    assert lines == ["one"]


def test_put_raises_what_the_task_raises(app: headrace.App) -> None:
    @app.task(retries=5)
    def broken() -> None:
        raise LookupError("no")

    with app.inlined() as runs, pytest.raises(LookupError, match="no"):
        broken.put()

    assert [one.outcome for one in runs] == ["failed"]


def test_failures_are_recorded_with_keep_failures(app: headrace.App) -> None:
    @app.task()
    def broken() -> int:
        raise LookupError("no")

    @app.task()
    def strange() -> object:
        return object()

    @app.task()
    def tired() -> None:
        raise headrace.Snooze(5)

    with app.inlined(keep_failures=True) as runs:
        job_id = broken.put()
        strange.put()
        with pytest.raises(headrace.TaskFailed, match="LookupError: no"):
            broken.result(job_id)
        with pytest.raises(headrace.NoResult, match="scheduled"):
            tired.result(tired.put())

    assert [(one.outcome, type(one.error).__name__) for one in runs] == [
        ("failed", "LookupError"),
        ("failed", "Unwritable"),
        ("snoozed", "Snooze"),
    ]


def test_result_of_an_unknown_job_raises_job_not_found(app: headrace.App) -> None:
    @app.task()
    def nothing() -> None:
        pass

    with app.inlined():
        assert nothing.result(nothing.put()) is None
        with pytest.raises(headrace.JobNotFound):
            nothing.result("unknown")


def test_nested_puts_run_from_sync_and_async_tasks(app: headrace.App) -> None:
    @app.task()
    async def leaf(name: str) -> str:
        return headrace.Context.current().id + name

    @app.task()
    def plain() -> None:
        leaf.put("plain")

    @app.task()
    async def awaiting() -> None:
        await leaf.aput("awaiting")
        leaf.put("blocking in a loop")
        await plain.aput()

    with app.inlined() as runs:
        plain.put()
        awaiting.put()

    assert [one.arguments.get("name", one.task) for one in runs] == [
        *("plain", "plain"),
        *("awaiting", "blocking in a loop", "plain", "plain", "awaiting"),
    ]
    assert all(one.result == one.id + one.arguments["name"] for one in runs if one.task == "leaf")


async def test_inlined_works_with_async_puts(app: headrace.App) -> None:
    loops = []

    @app.task()
    async def where() -> str:
        loops.append(asyncio.get_running_loop())
        return "here"

    with app.inlined():
        job_id = await where.aput()
        [other] = await where.aput_many([{}])
        results: list[object] = [await where.aresult(job_id), await where.aresult(other)]
        assert results == ["here", "here"]

    assert loops == [asyncio.get_running_loop()] * 2


def test_context_works_without_a_server(app: headrace.App) -> None:
    seen = []

    @app.task(queue="mail")
    async def curious() -> None:
        context = headrace.Context.current()
        context.progress(0.5)
        context.log("line")
        context.heartbeat()
        await context.aprogress(0.5)
        await context.alog("line")
        await context.aheartbeat()
        seen.append((context.id, context.attempt, context.job.queue, context.cancelled))

    with app.inlined():
        curious.options(id="mine", delay=3600).put()

    assert seen == [("mine", 1, "mail", False)]


def test_put_after_the_block_goes_to_the_server(app: headrace.App) -> None:
    @app.task()
    def nothing() -> None:
        pass

    with pytest.raises(ZeroDivisionError), app.inlined():
        raise ZeroDivisionError

    assert app.inline is None
