"""A server that refuses writes, or is full, still answers reads; clients and workers wait for it.

Each kind of refusal is tried on Valkey, and on the Redis server of this machine if there is one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

import headrace
from headrace import Client, ServerUnavailable
from headrace.local_server.scratch import private_server
from tests.support.clients import CLIENT_KINDS, got, listed, opened
from tests.support.refusals import BINARIES, FULL, REFUSALS, Refusal, refused, refusing
from tests.support.restartable import meanwhile
from tests.support.servers import until


@pytest.fixture(params=BINARIES)
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    with private_server(binary=BINARIES[request.param]) as url:
        yield url


def fill(hr: Client) -> None:
    """Make jobs in several states, so that every read has something to return."""
    mail = hr.queue("mail")
    mail.put_many(range(9), tags=["vip"])
    done, failed, _ = mail.pop("ada", count=3)
    done.complete("well")
    failed.fail("io", "no route")
    mail.schedule("nightly", 1, every=3600, delay=3600)
    hr.feed("news").publish("item", id="a")
    hr.session("ada", ttl=None)


def reads(hr: Client) -> dict[str, Any]:
    """Read with every method; return what it returned, without the time that is left."""
    mail = hr.queue("mail")
    [first] = mail.peek(1)
    return {
        "queues": hr.queues()["mail"],
        "counts": mail.counts().running,
        "length": mail.length() - mail.counts().scheduled,
        "peek": first.id,
        "job": hr.job(first.id),
        "jobs": mail.jobs("failed"),
        "result": [hr.result(event.job_id) for event in hr.events() if event.kind == "completed"],
        "failures": (hr.failures.counts(), hr.failures.groups(), hr.failures.jobs("io")),
        "workers": [worker.name for worker in hr.workers.list()],
        "schedules": [schedule.id for schedule in hr.schedules.list()],
        "tags": (hr.tags.top(), hr.tags.jobs("vip").total),
        "stats": mail.stats().wait.count,
        "settings": (mail.settings(), hr.config.get()),
        "feed": (hr.feed("news").ids(), hr.feed("news").item("a")),
        "why": hr.why_waiting(first.id),
        "audit": hr.audit().problems,
    }


@pytest.mark.parametrize("functions", ["loaded", "flushed"])
@pytest.mark.parametrize("refusal", [*REFUSALS, FULL], ids=str)
def test_client_connects_and_reads(address: str, refusal: Refusal, functions: str) -> None:
    with headrace.connect(address) as hr:
        fill(hr)
        expected = reads(hr)
        late = hr.queue("late")
        late.put(1, delay=0.001)
        until(lambda: late.counts().due == 1, "the job is due")
        if functions == "flushed":
            forget_functions(address)
        with refusing(address, refusal):
            began = time.monotonic()
            with headrace.connect(address) as other:
                assert reads(other) == expected
                # Only a server that writes can make a due job wait.
                assert len(other.queue("late").peek(1)) == (refusal is FULL)
            assert time.monotonic() - began < 5


def forget_functions(url: str) -> None:
    with redis.Redis.from_url(url) as admin:
        admin.function_flush()


@pytest.mark.parametrize("functions", ["loaded", "flushed"])
def test_full_server_can_be_drained(address: str, functions: str) -> None:
    with headrace.connect(address) as hr:
        fill(hr)
        if functions == "flushed":
            forget_functions(address)
        with refusing(address, FULL), headrace.connect(address) as other:
            with pytest.raises(ServerUnavailable, match="free memory or raise maxmemory"):
                other.queue("mail").put("one more")
            drain(other)
            assert other.audit().problems == []


def drain(hr: Client) -> None:
    mail = hr.queue("mail")
    with hr.session("eve") as session:
        session.serve("mail")
        session.renew()
        first, second, third, fourth, *_ = mail.pop("eve", count=6)
        first.heartbeat()
        first.progress(0.5, "half")
        first.log("line")
        first.complete("well")
        second.fail("io", "no route", retry_in=0)
        third.release()
        fourth.complete(next="archive")
        session.unserve("mail")
    mail.pause()
    mail.resume()
    [job, *_] = mail.peek(1)
    hr.cancel(job.id)
    mail.pop("eve", count=1)
    [running, *_] = mail.jobs("running").jobs
    hr.timeout(running.id)
    hr.failures.retry("io")
    hr.sweep()
    while leases := mail.pop("ada", count=100):
        hr.leases.complete(leases)
    assert mail.counts().waiting == 0


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_call_waits_until_the_server_writes_again(
    client_kind: str, refusal: Refusal, address: str
) -> None:
    async with opened(client_kind, address, namespace="n") as hr:
        await got(hr.queue("mail").put("x"))
        with redis.Redis.from_url(address) as admin:
            refusal.begin(admin)

            def accept() -> None:
                until(lambda: refused(admin, refusal) > 1, "the put is tried again")
                refusal.end(admin)

            with meanwhile(accept):
                await got(hr.queue("mail").put("y"))
        [lease, _] = await got(hr.queue("mail").pop("w", count=2))
        assert await got(lease.complete()) == "complete"
        kinds = [event.kind for event in await listed(hr.events())]
        assert kinds == ["put", "put", "popped", "popped", "completed"]


@pytest.mark.parametrize("refusal", REFUSALS, ids=str)
@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_refusal_for_too_long_is_reported_as_unavailable(
    client_kind: str, refusal: Refusal, address: str, form: str
) -> None:
    async with opened(client_kind, address, namespace="n", retry_for=0.2) as hr:
        await got(hr.queue("mail").put("x"))
        [lease] = await got(hr.queue("mail").pop("w"))
        assert hr.core.uses_scripts == (form == "script")
        with refusing(address, refusal):
            for call in (lambda: hr.queue("mail").put("y"), lease.complete, hr.sweep):
                with pytest.raises(ServerUnavailable, match="refuses all writes") as error:
                    await got(call())
                assert error.value.maybe_done is False
            with pytest.raises(ServerUnavailable, match="refuses all writes"):
                async with opened(client_kind, address, namespace="new", retry_for=0.2):
                    pass
        assert await got(lease.complete()) == "complete"
