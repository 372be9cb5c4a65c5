"""The sync and the asyncio client have the same methods and return the same answers."""

from __future__ import annotations

import ast
import asyncio
import inspect
import pydoc
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import headrace
from headrace import Client, public_names
from headrace.client.method_groups import AsyncFeeds, AsyncTracking, Feeds, Tracking
from headrace.testing import Clock, open_with_clock
from tests.support.clients import CLIENT_KINDS, got, listed, opened
from tests.support.processes import run_python
from tests.support.servers import until

PAIRS: list[tuple[type, type]] = [
    (headrace.Client, headrace.AsyncClient),
    (Feeds, AsyncFeeds),
    (Tracking, AsyncTracking),
    (headrace.Feed, headrace.AsyncFeed),
    (headrace.Group, headrace.AsyncGroup),
    (headrace.Lease, headrace.AsyncLease),
    (headrace.Listener, headrace.AsyncListener),
    (headrace.Queue, headrace.AsyncQueue),
    (headrace.Session, headrace.AsyncSession),
    (headrace.Watch, headrace.AsyncWatch),
]
PLAIN_METHODS = {"events", "group", "queue"}


def methods(kind: type) -> dict[str, Any]:
    return {
        name: method
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def parameters(method: Any) -> list[inspect.Parameter]:
    found = list(inspect.signature(method).parameters.values())
    return [one.replace(annotation=str(one.annotation).replace("Async", "")) for one in found]


@pytest.mark.parametrize(("sync", "asyncio_form"), PAIRS)
def test_sync_and_async_classes_have_equal_names_and_signatures(
    sync: type, asyncio_form: type
) -> None:
    assert set(methods(sync)) == set(methods(asyncio_form))
    for name, method in methods(sync).items():
        other = methods(asyncio_form)[name]
        assert parameters(method) == parameters(other), name
        about, about_other = inspect.getdoc(method), inspect.getdoc(other)
        assert about == about_other or f"see {sync.__name__}.{name}." in str(about_other), name
        assert inspect.iscoroutinefunction(other) == (name not in PLAIN_METHODS), name
        assert not inspect.iscoroutinefunction(method), name


@pytest.mark.parametrize("kind", [kind for pair in PAIRS for kind in pair])
def test_help_is_readable(kind: type) -> None:
    assert kind.__doc__
    shown = pydoc.plain(pydoc.render_doc(kind))
    for name, method in methods(kind).items():
        assert inspect.getdoc(method), name
        assert f" |  {name}(self" in shown or f" |  async {name}(self" in shown, name
    for inner in ("Operation[", "Generator", "Like", "lambda"):
        assert inner not in shown


def test_public_names_are_sorted_and_importable() -> None:
    assert headrace.__all__ == sorted(headrace.__all__)
    for name in headrace.__all__:
        assert inspect.getdoc(getattr(headrace, name)), name
    assert set(headrace.__all__) <= set(dir(headrace))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        headrace.Nothing  # noqa: B018


def test_public_names_are_documented() -> None:
    tree = inspect.getdoc(headrace.errors) or ""
    errors = {"HeadraceError", *re.findall(r"[├└]── (\w+)", tree)}
    assert errors == {name for name in headrace.__all__ if name in vars(headrace.errors)}
    assert errors == {
        name
        for name, kind in vars(headrace.errors).items()
        if isinstance(kind, type) and issubclass(kind, headrace.HeadraceError)
    }


def test_editors_and_the_interpreter_find_the_same_public_names() -> None:
    tree = ast.parse(Path(public_names.__file__).read_text())
    exported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    errors = {name for name in headrace.__all__ if name in vars(headrace.errors)}
    assert exported == {*headrace.__all__} - errors - {"connect", "connect_async"}


def test_importing_headrace_imports_no_redis() -> None:
    ran = run_python(
        "import sys, headrace\n"
        "headrace.HeadraceError, headrace.connect\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('redis', 'hiredis')))"
    )
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")


@pytest.fixture
async def answers(valkey_url: str) -> dict[str, list[Any]]:
    """Return the answers of the sync and of the asyncio client to the same calls."""
    tellings: dict[str, list[Any]] = {}
    for client_kind in CLIENT_KINDS:
        calm, clock = open_with_clock(valkey_url, namespace=f"story-{uuid4().hex}")
        with calm:
            async with opened(client_kind, valkey_url, namespace=calm.core.namespace) as hr:
                tellings[client_kind] = await story(hr, calm, clock)
    return tellings


async def story(hr: Any, calm: Client, clock: Clock) -> list[Any]:
    """Make one call of every kind and return the answers."""
    queue = hr.queue("mail")
    answers: list[Any] = [await got(queue.put({"to": "ada"}, id="a", priority=1, tags=["vip"]))]
    answers.append(await got(queue.put_many([headrace.Put(n, id=f"b{n}") for n in range(3)])))
    session = await got(hr.session("w", ttl=30))
    answers.append(await got(session.serve("mail")))
    leases = await got(queue.pop("w", count=4, lease=10))
    answers.append([(lease.id, lease.attempt, lease.data, lease.job) for lease in leases])
    one, two, three, four = leases
    clock.tick(5)
    answers.append(await got(one.heartbeat(lease_for=60, data="changed")))
    answers.append([await got(one.progress(0.5, "half")), await got(one.log("a line"))])
    answers.append(await got(hr.job(one.id)))
    answers.append(
        [await got(hr.tags.add(one.id, "late")), await got(hr.tags.remove(one.id, "vip"))]
    )
    answers.append([await got(hr.tracking.add(one.id)), await got(hr.tracking.list())])
    answers.append([await got(hr.tags.jobs("late")), await got(hr.tags.top(least=1))])
    waiting = asyncio.ensure_future(in_background(hr.result, one.id, wait=20))
    answers.append(await got(one.complete({"well": True})))
    answers.append(await waiting)
    answers.append(await got(two.fail("boom", "why")))
    answers.append(await got(three.fail("boom", retry_in=5)))
    answers.append([await got(hr.failures.counts()), await got(hr.failures.jobs("boom"))])
    answers.append(await got(hr.retry(two.id)))
    answers.append(await got(four.release(position="back")))
    answers.append(await refused(hr.result, four.id))
    answers.append([await got(queue.counts()), await got(queue.length())])
    answers.append([worker.jobs for worker in await got(hr.workers.list())])
    await got(session.end())
    answers.append(await refused(session.renew))
    answers.append(await refused(one.heartbeat))
    answers.append([job.id for job in await got(queue.peek(9))])
    answers.append(await got(queue.stats()))
    answers.append([await got(hr.config.get("lease")), (await got(queue.settings()))["lease"]])
    answers.append(await got(queue.schedule("tick", "tock", cron="@daily", zone="Asia/Kathmandu")))
    answers.append(await got(hr.schedules.update("tick", every=60, tags=["often"])))
    answers.append([await got(hr.schedules.get("tick")), await got(hr.schedules.list("mail"))])
    answers.append(
        [await got(hr.schedules.delete("tick", "tack")), await got(hr.schedules.get("tick"))]
    )
    answers.append(await refused(hr.schedules.update, "tick"))
    answers.append(await got(hr.audit()))
    answers.append([comparable(event) for event in await listed(hr.events())])
    await got(queue.delete())
    answers.append(await got(hr.queues()))
    answers += await story_of_feeds(hr)
    answers.append(await woken_by_a_put(hr, calm))
    return answers


async def story_of_feeds(hr: Any) -> list[Any]:
    news = await got(hr.feeds.create("news", max_length=2, about="new"))
    answers: list[Any] = [await refused(hr.feeds.create, "news")]
    listening, to_all = await got(news.listen(wait=20)), await got(hr.feeds.listen(wait=20))
    answers.append(await got(news.publish({"n": 1}, id="a")))
    answers.append(await got(news.publish_many({"b": 2, "c": 3})))
    answers.append([await got(news.ids()), await got(news.all()), await got(news.item("b"))])
    answers.append([await got(news.retract("b", "x")), await got(news.has("c"))])
    await got(news.configure(about="newer"))
    answers.append([await got(news.settings()), await got(news.counts()), await got(news.length())])
    line = await got(hr.feeds.create("line", sorted=True))
    answers.append([await got(line.publish_many(["x", "z"])), line.sorted])
    await got(line.move("2", first=True))
    answers.append([await got(line.ids()), await refused(line.move, "9")])
    answers.append([await got(hr.feeds.list()), await got(hr.feeds.exists("line"))])
    answers.append((await got(hr.feed("news"))).sorted)
    await got(line.delete())
    answers.append(await refused(line.length))
    for one, count in ((listening, 6), (to_all, 11)):
        answers.append([spoken(event) for event in await first(one, count)])
        await got(one.close())
    return answers


async def first(listening: Any, count: int) -> list[Any]:
    if hasattr(listening, "__anext__"):
        return [await anext(listening) for _ in range(count)]
    return [next(listening) for _ in range(count)]


def spoken(event: headrace.FeedEvent) -> Any:
    return (event.number, event.kind, event.feed, event.id, event.item, event.place, event.after)


async def woken_by_a_put(hr: Any, calm: Client) -> list[str]:
    waiting = asyncio.ensure_future(in_background(hr.queue("late").pop, "w", wait=20))
    _, channel = calm.core.channel(0, "queue", "late")
    listeners: Any = (0, ("PUBSUB", "SHARDNUMSUB", channel))
    await asyncio.to_thread(
        until, lambda: calm.core.transport.send([listeners])[0][1] == 1, "a client waits"
    )
    calm.queue("late").put("x", id="late")
    return [lease.id for lease in await waiting]


async def in_background(call: Any, *args: Any, **options: Any) -> Any:
    if inspect.iscoroutinefunction(call):
        return await call(*args, **options)
    return await asyncio.to_thread(call, *args, **options)


async def refused(call: Any, *args: Any) -> tuple[str, str]:
    with pytest.raises(headrace.HeadraceError) as error:
        await got(call(*args))
    return type(error.value).__name__, str(error.value)


def comparable(event: headrace.Event) -> Any:
    return (event.number, event.kind, event.job_id, event.attempt, event.at, event.run, event.wait)


async def test_sync_and_async_clients_return_equal_answers(answers: dict[str, list[Any]]) -> None:
    sync, asyncio_form = answers["sync"], answers["async"]
    assert len(sync) == len(asyncio_form) > 20
    for one, other in zip(sync, asyncio_form, strict=True):
        assert one == other
    assert sync[-1] == ["late"]
