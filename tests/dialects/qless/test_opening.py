"""The dialect is opened on a client, or by a URL."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import headrace
from headrace import Client, InvalidArgument
from headrace.compat import qless
from headrace.compat.qless import AsyncQless, Qless, client, jobs, queues

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
        if not name.startswith("_") and name != "open"
    }


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_both_colours_offer_the_same(pair: tuple[type, type]) -> None:
    assert offered(pair[0]) == offered(pair[1])
    assert offered(pair[0])


def test_by_a_url_it_has_a_client_of_its_own_and_closes_it(valkey_url: str) -> None:
    with Qless(valkey_url, namespace="by url") as opened:
        opened.queues["by url"].put({"a": 1}, id="by url")
        assert opened.client.core.namespace == "by url"
        assert opened.cancel("by url") == ["by url"]


async def test_by_a_url_the_awaiting_one_is_opened_by_its_first_call(valkey_url: str) -> None:
    first_calls: list[Callable[[AsyncQless], Any]] = [
        lambda qless: qless.queues["by url"].put(1, id="by url async"),
        lambda qless: qless.queues["by url"].pop(),
        lambda qless: qless.jobs["by url async"],
        lambda qless: qless.config.get("heartbeat"),
        lambda qless: qless.cancel("by url async"),
    ]
    for call in first_calls:
        async with AsyncQless(valkey_url, namespace="by url") as opened:
            await call(opened)
        closed = AsyncQless(valkey_url, namespace="by url")
        await call(closed)
        await closed.close()


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


@pytest.mark.parametrize("part", ["config", "jobs", "queues", "throttles", "workers"])
async def test_what_is_found_by_name_cannot_be_gone_through(qless: Any, part: str) -> None:
    with pytest.raises(TypeError, match="not iterable"):
        iter(getattr(qless, part))
    with pytest.raises(TypeError, match=r"not iterable|not a container"):
        assert "name" in getattr(qless, part)
