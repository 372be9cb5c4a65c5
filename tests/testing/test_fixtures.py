"""The pytest plugin in a project of its own, and apps bound to another server."""

from __future__ import annotations

import asyncio
import gc

import pytest

import headrace
from headrace.testing import settable_clock
from tests.docs.support.pages import ROOT, steps

pytest_plugins = ["pytester"]

TASKS = """
import headrace

app = headrace.App("shop", url="redis://localhost:1")

@app.task(retries=1, backoff=headrace.Backoff(first=60, jitter=0))
def greet(name: str) -> str:
    if headrace.Context.current().attempt == 1:
        raise ConnectionError
    return f"hello {name}"

@app.task()
async def think() -> int:
    return 42
"""

SETTINGS = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""

TESTS = """
import pytest
import headrace
import tasks

def test_fixtures_run_a_retry(headrace_app, headrace_clock):
    app = headrace_app(tasks.app)
    job_id = tasks.greet.put("ada")
    assert [one.outcome for one in app.run_pending()] == ["retried"]
    headrace_clock.tick(60)
    assert [one.outcome for one in app.run_pending()] == ["completed"]
    assert tasks.greet.result(job_id) == "hello ada"

@pytest.mark.parametrize("time", [1, 2])
def test_every_test_starts_with_an_empty_namespace(headrace_app, time):
    headrace_app(tasks.app)
    assert tasks.app.client.queues() == {}
    tasks.think.put()

async def test_fixtures_work_in_an_event_loop(headrace_app):
    app = headrace_app(tasks.app)
    job_id = await tasks.think.aput()
    assert len(await app.arun_pending()) == 1
    assert await tasks.think.aresult(job_id) == 42

def test_two_apps_have_separate_namespaces_and_one_clock(headrace_app, headrace_clock):
    other = headrace_app(headrace.App("other"))
    headrace_clock.tick(60)
    headrace_app(tasks.app)
    tasks.think.put()
    assert other.run_pending() == []
    assert tasks.app.client.job(tasks.think.put()).put_at == headrace_clock.now

def test_app_is_restored_after_the_test():
    assert tasks.app.place.namespace == "shop"
    assert tasks.app.place.url == tasks.app.url == "redis://localhost:1"
"""


def test_a_project_can_test_its_tasks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(tasks=TASKS, test_tasks=TESTS)
    pytester.makeini(SETTINGS)

    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=60)

    done.assert_outcomes(passed=6)


def test_example_in_the_testing_docs_passes(pytester: pytest.Pytester) -> None:
    shown = [step.text for step in steps(ROOT / "docs" / "guides" / "testing.md")]
    pytester.makepyfile(test_page="\n\n".join(shown))

    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:asyncio", timeout=60)

    done.assert_outcomes(passed=1)


def test_a_bound_app_keeps_its_codec_and_gets_its_old_client_back(
    headrace_url: str, headrace_client: headrace.Client
) -> None:
    app = headrace.App("shop", url=headrace_url, codec="msgpack")
    before = app.client
    place = app.place
    namespace = headrace_client.core.namespace

    with app.bound_to(headrace_url, namespace=namespace, library=settable_clock()) as bound:
        assert bound is app
        assert app.client is not before
        assert app.codec is place.codec
        assert app.client.core.namespace == namespace
        inner = app.client

    assert app.client is before
    assert app.place is place
    assert inner is not before
    app.close()


def test_invalid_url_is_refused_and_leaves_the_app_unchanged() -> None:
    app = headrace.App("shop")
    place = app.place

    with pytest.raises(headrace.InvalidArgument, match="URL"), app.bound_to("nowhere"):
        pass

    assert app.place is place


def test_connections_close_with_their_event_loop(headrace_url: str) -> None:
    app = headrace.App("shop", url=headrace_url)

    async def main() -> headrace.AsyncClient:
        return await app.async_client()

    first, second = asyncio.run(main()), asyncio.run(main())

    assert first is not second
    gc.collect()  # an open connection causes a ResourceWarning here, which is an error


async def test_app_in_an_event_loop_gets_its_own_client_back_after_the_block(
    headrace_url: str,
) -> None:
    app = headrace.App("shop", url=headrace_url)
    own = await app.async_client()

    with app.bound_to(headrace_url, namespace="elsewhere"):
        assert (await app.async_client()).core.namespace == "elsewhere"

    assert await app.async_client() is own
    await app.aclose()
    assert await app.async_client() is not own
