"""The asyncio form of each API has the same methods, and its methods work."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

import headrace
from headrace import AsyncClient, Client
from headrace.compat import qless, redis_queue, thoonk, worqr
from headrace.compat.qless import client as qless_client
from headrace.testing import settable_clock
from tests.proof import proves

PAIRS: list[tuple[type, type]] = [
    (qless.Qless, qless.AsyncQless),
    (qless.Job, qless.AsyncJob),
    (qless.Queue, qless.AsyncQueue),
    (qless.RecurringJob, qless.AsyncRecurringJob),
    (qless_client.QlessConfig, qless_client.AsyncQlessConfig),
    (qless_client.QlessThrottles, qless_client.AsyncQlessThrottles),
    (qless_client.QlessWorkers, qless_client.AsyncQlessWorkers),
    (qless_client.QlessJobs, qless_client.AsyncQlessJobs),
    (qless_client.QlessQueues, qless_client.AsyncQlessQueues),
    (thoonk.Job, thoonk.AsyncJob),
    (thoonk.Leaf, thoonk.AsyncLeaf),
    (thoonk.Queue, thoonk.AsyncQueue),
    (thoonk.SortedFeed, thoonk.AsyncSortedFeed),
    (thoonk.Thoonk, thoonk.AsyncThoonk),
    (worqr.Worqr, worqr.AsyncWorqr),
    (redis_queue.RedisQueue, redis_queue.AsyncRedisQueue),
]
# Methods that need threads.
SYNC_ONLY = {
    "Thoonk": {"register_handler"},
    "Worqr": {
        *("failWorker", "keepWorkerAlive", "on", "removeListener", "requestWork"),
        *("startWork", "startWorker", "stopWork"),
    },
}
NOT_AWAITED = {"ingress", "serves", "structure"}


def methods(kind: type) -> dict[str, Any]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: method for name, method in found if not name.startswith("_")}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_both_forms_have_the_same_methods(pair: tuple[type, type]) -> None:
    sync, asynchronous = pair
    offered = methods(asynchronous)
    assert set(methods(sync)) - SYNC_ONLY.get(sync.__name__, set()) == set(offered) - {"open"}
    for name, method in offered.items():
        assert method.__doc__, name
        assert inspect.iscoroutinefunction(method) == (name not in NOT_AWAITED), name
        if name in methods(sync):
            expected = str(inspect.signature(methods(sync)[name]))
            assert str(inspect.signature(method)).replace("Async", "") == expected, name


@pytest.fixture
async def client(url: str, hr: Client) -> AsyncIterator[AsyncClient]:
    """An asyncio client on the namespace of hr."""
    found = await headrace.connect_async(url, namespace=hr.core.namespace, library=settable_clock())
    async with found:
        yield found


@proves("Q-07")
async def test_qless(client: AsyncClient, hr: Client) -> None:
    opened = qless.AsyncQless(client, "w1")
    queue = opened.queues["mail"]

    assert await queue.put({"to": "ada"}, id="a", tags=["vip"]) == "a"
    peeked = await queue.peek()
    assert peeked is not None
    [job] = await queue.pop(1)
    assert (job.id, peeked.id, job.data) == ("a", "a", {"to": "ada"})
    assert await job.heartbeat()
    assert await opened.workers["w1"] == {"jobs": ["a"], "stalled": []}
    assert await job.complete() == "complete"
    found = await opened.jobs["a"]
    assert found is not None
    assert found.state == "complete"
    assert [each.id for each in await opened.jobs.get("a", "b")] == ["a"]
    assert await queue.pop() is None
    assert await opened.config["heartbeat"] == 60
    await queue.recur("tick", 60, id="each")
    each = await opened.jobs.recurring("each")
    assert each is not None
    assert await each.cancel()
    assert [known["name"] for known in await opened.queues.counts()] == ["mail"]
    assert hr.audit().balanced


async def test_thoonk(client: AsyncClient, hr: Client) -> None:
    opened = thoonk.AsyncThoonk(client)
    leaf = await opened.leaf("news", {"max_length": 3})
    assert await leaf.publish("item", "a") == "a"
    assert await leaf.get_all() == {"a": "item"}
    line = await opened.sorted_feed("line")
    await line.append("x")
    assert await line.get_ids() == ["1"]
    mail = await opened.queue("mail")
    await mail.put("letter")
    assert await mail.get(1) == "letter"
    steps = await opened.job("steps")
    job_id = await steps.put("step")
    claimed = await steps.get(1)
    assert claimed == (job_id, "step", 0)
    await steps.finish(job_id, "result")
    assert await steps.get_result(job_id, 1) == ("step", "result")
    assert await opened.get_feeds() == {"news", "line", "mail", "steps"}
    assert (await opened["mail"]).type == "queue"
    made: Any = await opened.create_feed("other", {"type": "queue"})
    assert await made.length() == 0
    with pytest.raises(thoonk.FeedExists):
        await opened.create_feed("other")
    await opened.delete_feed("other")
    assert hr.audit().balanced


async def test_worqr(client: AsyncClient, hr: Client) -> None:
    opened = worqr.AsyncWorqr(client, workerId="W1")
    await opened.enqueue(["T0", "T1"], "Q1")
    with pytest.raises(headrace.SessionRequired):
        await opened.startTask("Q1")
    session = await client.session("W1")
    await session.serve("Q1")

    process = await opened.startTask("Q1")

    assert process is not None
    assert process.task == "T0"
    assert await opened.getProcesses() == [process.id]
    await opened.stopTask(process.id)
    assert await opened.getTasks("Q1") == ["T0", "T1"]
    again = await opened.dequeue("Q1")
    assert again is not None
    await opened.finishTask(again.id, "result")
    assert await opened.countTasks("Q1") == 1
    assert await opened.getWorkers() == ["W1"]
    assert hr.audit().balanced


async def test_redis_queue(client: AsyncClient, hr: Client) -> None:
    opened = redis_queue.AsyncRedisQueue(client, poptimeout=0)
    tid = await opened.push_msg("q", "message")
    assert await opened.safe_pop_msg("q") == (tid, "message")
    await opened.mark_done("q", tid)
    assert await opened.safe_pop("q") is None
    assert hr.audit().balanced


Opened = qless.AsyncQless | thoonk.AsyncThoonk | worqr.AsyncWorqr | redis_queue.AsyncRedisQueue


@pytest.mark.parametrize(
    ("make", "first_call"),
    [
        (qless.AsyncQless, lambda opened: opened.queues["url"].put(1)),
        (qless.AsyncQless, lambda opened: opened.queues["url"].pop()),
        (qless.AsyncQless, lambda opened: opened.jobs["url"]),
        (qless.AsyncQless, lambda opened: opened.config.get("heartbeat")),
        (qless.AsyncQless, lambda opened: opened.cancel("url")),
        (thoonk.AsyncThoonk, lambda opened: opened.queue("url")),
        (thoonk.AsyncThoonk, lambda opened: opened.get_feeds()),
        (worqr.AsyncWorqr, lambda opened: opened.enqueue("task", "url")),
        (redis_queue.AsyncRedisQueue, lambda opened: opened.push_msg("url", "message")),
    ],
)
async def test_first_call_opens_the_connection(
    valkey_url: str, make: Callable[..., Opened], first_call: Callable[[Any], Awaitable[Any]]
) -> None:
    opened = make(valkey_url)
    with pytest.raises(headrace.InvalidArgument, match="not open"):
        _ = opened.core
    await first_call(opened)
    await opened.close()

    async with make(valkey_url) as entered:
        await first_call(entered)
    for namespace in ("default", "worqr"):
        with headrace.connect(valkey_url, namespace=namespace) as hr:
            for queue in hr.queues():
                hr.queue(queue).delete()
            for feed in hr.feeds.list():
                hr.feed(feed).delete()


async def test_passed_client_stays_open(client: AsyncClient) -> None:
    async with qless.AsyncQless(client):
        pass

    assert (await client.audit()).balanced
