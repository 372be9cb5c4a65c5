"""Regression tests of edge cases of the clients."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import pytest

import headrace
from headrace import Client, HeadraceError, InvalidArgument, Unreadable
from headrace.transport.transport import IDLE_SUBSCRIPTIONS


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_pop_cancelled_at_any_point_ends(valkey_url: str) -> None:
    for turns in range(1, 30):
        async with await headrace.connect_async(valkey_url, namespace="cancelled") as hr:
            task = asyncio.create_task(hr.queue("mail").pop("w", wait=None))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=20)
            assert done
            assert task.cancelled()


def test_sync_pops_on_many_queues_keep_few_connections(valkey_url: str) -> None:
    with headrace.connect(valkey_url, namespace="many") as hr:
        before = open_files()
        for number in range(5 * IDLE_SUBSCRIPTIONS):
            hr.queue(f"queue-{number}").pop("w", wait=0.001)
        assert open_files() <= before + IDLE_SUBSCRIPTIONS + 2


async def test_async_pops_on_many_queues_keep_few_connections(valkey_url: str) -> None:
    async with await headrace.connect_async(valkey_url, namespace="many") as hr:
        before = open_files()
        for number in range(5 * IDLE_SUBSCRIPTIONS):
            await hr.queue(f"queue-{number}").pop("w", wait=0.001)
        assert open_files() <= before + IDLE_SUBSCRIPTIONS + 2


@pytest.mark.parametrize(
    "error",
    [
        headrace.LeaseLost("a", "running", "w"),
        headrace.JobNotFound("a"),
        headrace.SessionRequired("w", "mail"),
        headrace.ServerUnavailable("gone", maybe_done=True),
        headrace.ScriptError("put", "ops/jobs/put.lua:1", "why"),
        Unreadable("JSON", b"\xff", "why"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling(error: HeadraceError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - made here

    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_job_survives_pickling(hr: Client) -> None:
    job_id = hr.queue("mail").put({"to": "ada"})
    job = hr.job(job_id)

    again = pickle.loads(pickle.dumps(job))  # noqa: S301 - made here

    assert again == job
    assert again.data == {"to": "ada"}


def test_undecodable_result_is_not_taken(url: str) -> None:
    writes = headrace.connect(url, namespace="codecs", codec="raw")
    reads = headrace.connect(url, namespace="codecs", codec="json")
    with writes, reads:
        job_id = writes.queue("mail").put(b"\xff")
        [lease] = writes.queue("mail").pop("w")
        lease.complete(b"\xfe")

        with pytest.raises(Unreadable, match="another codec"):
            reads.result(job_id, take=True)

        assert writes.result(job_id, take=True).value == b"\xfe"


def test_put_object_as_data_is_refused(hr: Client) -> None:
    with pytest.raises(InvalidArgument, match="put_many"):
        hr.queue("mail").put(headrace.Put(1, id="x"))


def test_url_with_an_unknown_option_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument, match="URL"):
        headrace.connect(f"{url}{'&' if '?' in url else '?'}foo=1")


def test_result_of_a_job_completed_without_one_raises_at_once(hr: Client) -> None:
    job_id = hr.queue("mail").put("x")
    hr.queue("mail").pop("w")[0].complete()

    with pytest.raises(headrace.NoResult, match="is complete and has no result"):
        hr.result(job_id)
