"""app.run_pending runs every available job in this process, as a worker would."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar

import pytest

import headrace
from headrace.testing import Clock
from headrace.testing.calling import Ran

STEADY = headrace.Backoff(first=10, factor=2, jitter=0)

Bind = Callable[[headrace.App], headrace.App]


@pytest.fixture
def app(headrace_app: Bind) -> headrace.App:
    return headrace_app(headrace.App("shop", backoff=STEADY))


def job(app: headrace.App, job_id: str) -> headrace.Job:
    found = app.client.job(job_id)
    assert found is not None
    return found


def outcomes(report: list[Ran]) -> list[tuple[str, str]]:
    return [(one.task, one.outcome) for one in report]


def test_jobs_run_in_order_in_this_thread_and_are_reported(app: headrace.App) -> None:
    threads = []

    @app.task()
    def double(number: int) -> int:
        threads.append(threading.current_thread())
        return 2 * number

    ids = double.put_many([{"number": 1}, {"number": 2}])
    first = double.options(priority=-1).put(0)

    report = app.run_pending()

    assert report == [
        Ran("double", first, "default", 1, {"number": 0}, "completed", 0),
        Ran("double", ids[0], "default", 1, {"number": 1}, "completed", 2),
        Ran("double", ids[1], "default", 1, {"number": 2}, "completed", 4),
    ]
    assert threads == [threading.current_thread()] * 3
    assert double.result(ids[1]) == 4
    assert job(app, ids[1]).state == "complete"
    assert app.run_pending() == []
    assert app.client.workers.list() == []


def test_jobs_put_by_a_task_run_too(app: headrace.App) -> None:
    @app.task(queue="second")
    def second() -> None:
        pass

    @app.task(queue="first")
    async def first() -> None:
        await second.aput()
        second.put()

    first.put()

    assert [one.task for one in app.run_pending()] == ["first", "second", "second"]


def test_retry_runs_after_the_clock_has_moved(app: headrace.App, headrace_clock: Clock) -> None:
    @app.task(retries=1)
    def shaky() -> str:
        if headrace.Context.current().attempt == 1:
            raise ConnectionError("busy")
        return "done"

    job_id = shaky.put()

    [failed] = app.run_pending()
    assert (failed.outcome, repr(failed.error)) == ("retried", "ConnectionError('busy')")
    assert app.run_pending() == []
    headrace_clock.tick(9.999)
    assert app.run_pending() == []
    headrace_clock.tick(0.001)
    [again] = app.run_pending()
    assert (again.outcome, again.attempt, again.result) == ("completed", 2, "done")
    assert shaky.result(job_id) == "done"


def test_job_without_retries_fails_with_its_traceback(app: headrace.App) -> None:
    @app.task(retries=0)
    def broken() -> None:
        raise ValueError("no")

    job_id = broken.put()

    assert outcomes(app.run_pending()) == [("broken", "failed")]
    failure = job(app, job_id).failure
    assert failure is not None
    assert (failure.type, failure.message) == ("ValueError", "no")
    assert 'raise ValueError("no")' in failure.traceback
    assert "headrace/testing" not in failure.traceback


def test_verdicts_set_the_outcome(app: headrace.App, headrace_clock: Clock) -> None:
    @app.task(retries=5)
    def decide(verdict: str) -> None:
        raise {
            "snooze": headrace.Snooze(60),
            "discard": headrace.Discard("never"),
            "retry": headrace.Retry("soon", delay=1),
        }[verdict]

    decide.put_many([{"verdict": "snooze"}, {"verdict": "discard"}, {"verdict": "retry"}])

    outcomes_seen = [(one.arguments["verdict"], one.outcome) for one in app.run_pending()]
    assert outcomes_seen == [("snooze", "snoozed"), ("discard", "failed"), ("retry", "retried")]
    headrace_clock.tick(1)
    assert [one.arguments["verdict"] for one in app.run_pending()] == ["retry"]
    headrace_clock.tick(59)
    assert [one.arguments["verdict"] for one in app.run_pending()] == ["snooze", "retry"]


def test_scheduled_jobs_wait_for_the_clock(app: headrace.App, headrace_clock: Clock) -> None:
    @app.task()
    def later() -> None:
        pass

    later.after(3600).put()

    assert app.run_pending() == []
    headrace_clock.tick(3600)
    assert len(app.run_pending()) == 1


def test_cron_task_runs_when_it_is_due(app: headrace.App, headrace_clock: Clock) -> None:
    @app.cron("0 3 * * *")
    def nightly() -> None:
        pass

    assert app.run_pending() == []
    headrace_clock.tick(3 * 3600)
    assert outcomes(app.run_pending()) == [("nightly", "completed")]
    headrace_clock.tick(24 * 3600)
    assert outcomes(app.run_pending()) == [("nightly", "completed")]


def test_reraise_raises_the_first_error_and_leaves_the_rest_waiting(app: headrace.App) -> None:
    @app.task(retries=0)
    def broken(number: int) -> None:
        raise LookupError(number)

    first, second = broken.put_many([{"number": 1}, {"number": 2}])

    with pytest.raises(LookupError, match="1"):
        app.run_pending(reraise=True)

    assert job(app, first).state == "failed"
    assert job(app, second).state == "waiting"


@pytest.mark.parametrize("data", ["text", {"task": "unknown"}, {"task": "known", "args": {"x": 1}}])
def test_malformed_jobs_fail_as_in_a_worker(app: headrace.App, data: object) -> None:
    @app.task()
    def known() -> None:
        pass

    app.client.queue("by hand").put(data, retries=0)

    [run] = app.run_pending()
    assert run.outcome == "failed"
    assert type(run.error).__name__ in ("Malformed", "UnknownTask", "WrongArguments")


def test_unwritable_result_fails_the_job(app: headrace.App) -> None:
    @app.task()
    def strange() -> object:
        return object()

    strange.put()

    [run] = app.run_pending()
    assert (run.outcome, type(run.error).__name__) == ("failed", "Unwritable")


def test_outcome_of_a_cancelled_job_is_refused(app: headrace.App) -> None:
    @app.task()
    def suicidal() -> None:
        app.client.cancel(headrace.Context.current().id)

    suicidal.put()

    [run] = app.run_pending()
    assert run.outcome == "refused"
    assert isinstance(run.error, headrace.HeadraceError)


def test_queue_that_removes_popped_jobs_needs_no_acknowledgement(app: headrace.App) -> None:
    @app.task(queue="once")
    def nothing() -> None:
        pass

    app.client.queue("once").configure("fifo")
    nothing.put()

    assert outcomes(app.run_pending()) == [("nothing", "completed")]


def test_exceptions_that_would_exit_fail_only_the_job(app: headrace.App) -> None:
    @app.task(retries=0)
    def leave() -> None:
        sys.exit(1)

    leave.put()

    assert outcomes(app.run_pending()) == [("leave", "failed")]


def test_exceptions_of_pytest_are_not_caught(app: headrace.App) -> None:
    @app.task()
    def check() -> None:
        pytest.fail("not so")

    check.put()

    with pytest.raises(pytest.fail.Exception, match="not so"):
        app.run_pending()
    assert app.client.queue("default").counts().waiting == 1


def test_only_the_given_queues_are_run(app: headrace.App) -> None:
    @app.task(queue="one")
    def one() -> None:
        pass

    @app.task(queue="two")
    def two() -> None:
        pass

    one.put()
    two.put()

    assert outcomes(app.run_pending(queues=[])) == []
    assert outcomes(app.run_pending(queues=["two"])) == [("two", "completed")]
    with pytest.raises(headrace.InvalidArgument, match="queues"):
        app.run_pending(queues="one")
    assert outcomes(app.run_pending()) == [("one", "completed")]


def test_too_many_jobs_raise_and_release_the_next_one(app: headrace.App) -> None:
    @app.task()
    def endless() -> None:
        endless.put()

    endless.put()

    with pytest.raises(RuntimeError, match=r"ran 3 jobs.*endless completed"):
        app.run_pending(most=3)

    assert app.client.queue("default").counts().waiting == 1
    assert app.client.audit().balanced


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_timeout_ends_a_run(app: headrace.App, kind: str) -> None:
    def busy() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pass

    async def idle() -> None:
        await asyncio.sleep(60)

    function: Callable[[], object] = busy if kind == "sync" else idle
    task = app.task(timeout=0.05, retries=0)(function)
    task.put()

    [run] = app.run_pending()
    assert run.outcome == "failed"
    assert type(run.error).__name__ == "Timeout"
    assert "0.05 s" in str(run.error)


def test_function_that_returned_in_time_is_not_interrupted_later(app: headrace.App) -> None:
    timeout = 0.5

    @app.task(timeout=timeout)
    def quick() -> int:
        return 1

    @app.task()
    def busy() -> None:
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            pass

    quick.put_many([{}] * 30)
    busy.put()

    assert {one.outcome for one in app.run_pending()} == {"completed"}


def test_context_is_that_of_the_job_and_unset_afterwards(app: headrace.App) -> None:
    seen = []

    @app.task()
    def plain() -> None:
        headrace.Context.current().log("plain was here")
        seen.append(headrace.Context.current().id)

    @app.task()
    async def awaiting() -> None:
        context = headrace.Context.current()
        await context.aprogress(0.5, "half")
        seen.append(headrace.Context.current().id)

    @app.task()
    def given(context: headrace.Context) -> None:
        seen.append(context.id)

    ids = [plain.put(), awaiting.put(), app.client.queue("default").put({"task": given.name})]
    app.run_pending(reraise=True)

    assert seen == ids
    assert [line for _, line in job(app, ids[0]).log] == ["plain was here"]
    assert job(app, ids[1]).note == "half"
    with pytest.raises(LookupError, match="no task is running here"):
        headrace.Context.current()


def test_isolated_tasks_run_in_the_process_of_the_test(app: headrace.App) -> None:
    seen = []

    @app.task(run="process")
    def isolated() -> None:
        seen.append(1)

    isolated.put()
    app.run_pending(reraise=True)

    assert seen == [1]


def test_run_pending_in_an_event_loop_names_arun_pending(app: headrace.App) -> None:
    async def main() -> None:
        app.run_pending()

    with pytest.raises(RuntimeError, match=r"await app\.arun_pending"):
        asyncio.run(main())


CHOSEN: ContextVar[str] = ContextVar("CHOSEN", default="none")


async def test_arun_pending_runs_async_and_sync_tasks(
    app: headrace.App, headrace_clock: Clock
) -> None:
    loops, threads = [], []

    @app.task()
    async def awaiting(name: str) -> str:
        loops.append(asyncio.get_running_loop())
        CHOSEN.set(name)
        return name

    @app.task(retries=1)
    def plain() -> None:
        threads.append(threading.current_thread())
        if headrace.Context.current().attempt == 1:
            raise OSError

    job_id = await awaiting.aput("ada")
    await plain.aput()

    runs = await app.arun_pending()

    assert outcomes(runs) == [("awaiting", "completed"), ("plain", "retried")]
    assert loops == [asyncio.get_running_loop()]
    assert threads != [threading.current_thread()]
    assert CHOSEN.get() == "none"
    assert app.client.result(job_id).value == "ada"
    headrace_clock.tick(10)
    assert outcomes(await app.arun_pending(reraise=True)) == [("plain", "completed")]


async def test_arun_pending_reraises_and_enforces_timeouts(app: headrace.App) -> None:
    @app.task(timeout=0.05, retries=0)
    def busy() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pass

    await busy.aput()

    with pytest.raises(Exception, match=r"0\.05 s"):
        await app.arun_pending(reraise=True)
