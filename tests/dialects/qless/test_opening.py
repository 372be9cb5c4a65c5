"""The dialect is opened on a client, or by a URL."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import headrace
from headrace import Client, InvalidArgument
from headrace.dialects import qless
from headrace.dialects.qless import AsyncQless, Qless, client, jobs, queues

PAIRS: list[tuple[type, type]] = [
    (Qless, AsyncQless),
    (client.Config, client.AsyncConfig),
    (client.Workers, client.AsyncWorkers),
    (jobs.Job, jobs.AsyncJob),
    (jobs.Jobs, jobs.AsyncJobs),
    (queues.Queue, queues.AsyncQueue),
    (queues.Queues, queues.AsyncQueues),
]


def offered(kind: type) -> dict[str, str]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return {
        name: str(inspect.signature(method)).replace("Async", "")
        for name, method in found
        if not name.startswith("_")
    }


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_both_colours_offer_the_same(pair: tuple[type, type]) -> None:
    assert offered(pair[0]) == offered(pair[1])
    assert offered(pair[0])


def test_by_a_url_it_has_a_client_of_its_own_and_closes_it(valkey_url: str) -> None:
    with Qless(valkey_url) as opened:
        opened.queues["by url"].put({"a": 1}, id="by url")
        assert opened.client.core.namespace == "default"
        assert opened.cancel("by url") == ["by url"]


async def test_by_a_url_the_awaiting_one_is_opened_by_async_with(valkey_url: str) -> None:
    closed = AsyncQless(valkey_url)
    with pytest.raises(InvalidArgument, match="async with"):
        _ = closed.queues["by url"]
    await closed.close()

    async with closed as opened:
        await opened.queues["by url"].put({"a": 1}, id="by url async")
        assert await opened.cancel("by url async") == ["by url async"]


def test_a_client_that_was_given_stays_open(hr: Client) -> None:
    with Qless(hr):
        pass

    assert hr.audit().balanced


async def test_what_is_neither_a_client_nor_a_url_is_refused(hr: Client) -> None:
    nothing: Any = None
    wrong_colour: Any = hr
    with pytest.raises(InvalidArgument, match="give a Client or a URL, not NoneType"):
        Qless(nothing)
    with pytest.raises(InvalidArgument, match="give an AsyncClient or a URL, not Client"):
        AsyncQless(wrong_colour)


def test_a_queue_of_the_dialect_is_a_queue_like_any_other(hr: Client) -> None:
    Qless(hr).queues["mail"].put({"to": "ada"}, id="j")

    assert list(hr.queues()) == ["mail"]
    [lease] = hr.queue("mail").pop("w")
    assert lease.data == {"to": "ada"}
    lease.complete()
    job = Qless(hr).jobs["j"]
    assert isinstance(job, qless.Job)
    assert job.state == "complete"
    assert hr.audit() == headrace.Audit(queues=1, jobs=1, problems=[])
