"""A stopped primary accepts no calls after Sentinel has made another server the primary."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest
import redis

from tests.support.clients import CLIENT_KINDS, got, opened
from tests.support.servers import Sentinel, sentinel, until


@pytest.fixture
def watched() -> Iterator[Sentinel]:
    with sentinel() as found:
        yield found


def jobs_on(watched: Sentinel, port: int) -> int:
    with redis.Redis(watched.host, port) as server:
        return len(server.keys("*:job:*"))


@pytest.mark.slow
@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_idle_client_puts_on_the_new_primary_after_the_old_one_continues(
    client_kind: str, watched: Sentinel
) -> None:
    url = f"redis+sentinel://{watched.host}:{watched.port}/{watched.service}"
    async with opened(client_kind, url, library=None, retry_for=30) as hr:
        await got(hr.queue("mail").put(1))
        pid = watched.primary_pid()
        os.kill(pid, signal.SIGSTOP)
        await asyncio.to_thread(until, watched.has_promoted_replica, "the replica is the primary")
        os.kill(pid, signal.SIGCONT)

        await got(hr.queue("mail").put_many(range(10)))

        assert jobs_on(watched, watched.replica) == 11
        assert jobs_on(watched, watched.primary) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("client_kind", CLIENT_KINDS)
async def test_put_that_waited_for_a_stopped_primary_is_repeated_on_the_new_primary(
    client_kind: str, watched: Sentinel
) -> None:
    url = f"redis+sentinel://{watched.host}:{watched.port}/{watched.service}"
    async with opened(client_kind, url, library=None, retry_for=30, timeout=30) as hr:
        await got(hr.queue("mail").put(1))
        pid = watched.primary_pid()
        os.kill(pid, signal.SIGSTOP)
        putting = asyncio.ensure_future(waiting_put(hr))
        await asyncio.to_thread(until, watched.has_promoted_replica, "the replica is the primary")
        os.kill(pid, signal.SIGCONT)

        job_id = await putting

        assert await got(hr.job(job_id)) is not None
        assert jobs_on(watched, watched.replica) == 2


async def waiting_put(hr: object) -> str:
    """Put a job; a sync client waits in a thread."""
    put = hr.queue("mail").put  # type: ignore[attr-defined]
    if asyncio.iscoroutinefunction(put):
        return str(await put(2))
    return str(await got(await asyncio.to_thread(put, 2)))
