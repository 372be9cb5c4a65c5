"""A watch notifies the holder of a lost lease: on the lease, and by a callback."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from headrace import (
    Client,
    InvalidArgument,
    JobNotFound,
    LeaseLost,
    ScriptError,
    ServerUnavailable,
)
from headrace.client.lease import Lease
from headrace.operations.held_leases import MAX_EARLY_NOTICES
from headrace.operations.lease_watch import CHECK_EVERY
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.clients import CLIENT_KINDS, got, opened
from tests.support.processes import run_python
from tests.support.proxy import Way
from tests.support.repeats import mark
from tests.support.servers import until

SOON = 4.0  # seconds; shorter than the interval at which a watch checks its leases
assert SOON < CHECK_EVERY


@dataclass
class Scene:
    """A worker that holds a job, and another client that takes the job from it."""

    calm: Client
    clock: Clock
    lease: Any
    session: Any


async def pop_one(hr: Any, calm: Client, job_id: str = "a", **options: Any) -> Any:
    calm.queue("mail").put("x", id=job_id, **options)
    [lease] = await got(hr.queue("mail").pop("w"))
    return lease


async def soon(condition: Callable[[], object], what: str) -> None:
    await asyncio.to_thread(until, lambda: bool(condition()), what, SOON)


# Every way to lose a lease.


def popped_by_another(scene: Scene) -> None:
    scene.clock.tick(60)
    assert [lease.id for lease in scene.calm.queue("mail").pop("other")] == ["a"]


def popped_by_itself(scene: Scene) -> None:
    scene.clock.tick(60)
    assert [lease.id for lease in scene.calm.queue("mail").pop("w")] == ["a"]


def expired_without_retries(scene: Scene) -> None:
    scene.clock.tick(60)
    assert scene.calm.queue("mail").pop("other") == []


TAKEN: dict[str, tuple[str, Callable[[Scene], object]]] = {
    "cancel": ("cancelled", lambda scene: scene.calm.cancel("a")),
    "cancel by value": ("cancelled", lambda scene: scene.calm.queue("mail").cancel_matching("x")),
    "delete its queue": ("cancelled", lambda scene: scene.calm.queue("mail").delete()),
    "timeout": ("lost", lambda scene: scene.calm.timeout("a")),
    "release by id": ("lost", lambda scene: scene.calm.release("a")),
    "fail by id": ("lost", lambda scene: scene.calm.fail("a", "typo")),
    "finish by id": ("lost", lambda scene: scene.calm.finish("a", "done")),
    "put the same id": ("lost", lambda scene: scene.calm.queue("mail").put("y", id="a")),
    "put it elsewhere": ("lost", lambda scene: scene.calm.queue("other").put("y", id="a")),
    "requeue": ("lost", lambda scene: scene.calm.requeue("a")),
    "pop of the late job by another worker": ("lost", popped_by_another),
    "pop of the late job by its holder": ("lost", popped_by_itself),
    "pop of the late job without retries": ("lost", expired_without_retries),
}


@proves("QL-14")
@pytest.mark.parametrize("way", TAKEN)
async def test_holder_is_notified_of_every_way_to_lose_a_lease(
    any_client: Any, calm: Client, clock: Clock, way: str
) -> None:
    why, take = TAKEN[way]
    notices: list[tuple[Any, str]] = []
    watch = await got(
        any_client.watch("w", on_taken=lambda lease, word: notices.append((lease, word)))
    )
    lease = await pop_one(
        any_client, calm, retries=0 if way == "pop of the late job without retries" else 5
    )
    assert not lease.taken

    take(Scene(calm, clock, lease, None))

    await soon(lambda: notices, f"the holder is notified of {way}")
    assert (lease.taken, notices) == (why, [(lease, why)])
    with pytest.raises((LeaseLost, JobNotFound)):
        await got(lease.complete())
    await got(watch.close())


async def lapses(scene: Scene) -> None:
    scene.clock.tick(3)
    scene.calm.sweep()


ENDED: dict[str, Callable[[Scene], Any]] = {
    "it expires": lapses,
    "its worker ends it": lambda scene: scene.session.end(),
    "an operator ends it": lambda scene: scene.calm.workers.end("w"),
    "another one replaces it": lambda scene: scene.calm.session("w"),
    "its worker stops serving the queue": lambda scene: scene.session.unserve("mail"),
}


@proves("QL-14")
@pytest.mark.parametrize("way", ENDED)
async def test_holder_is_notified_when_its_session_ends(
    any_client: Any, calm: Client, clock: Clock, way: str
) -> None:
    session = await got(any_client.session("w", ttl=3))
    await got(session.serve("mail"))
    watch = await got(any_client.watch("w"))
    lease = await pop_one(any_client, calm)

    await got(ENDED[way](Scene(calm, clock, lease, session)))

    await soon(lambda: lease.taken == "lost", f"the holder is notified that {way}")
    await got(watch.close())


# The notified lease.


@proves("QL-14")
async def test_only_lost_leases_are_notified(any_client: Any, calm: Client) -> None:
    ids = calm.queue("mail").put_many(range(20))
    notices: list[str] = []
    watch = await got(any_client.watch("w", on_taken=lambda lease, _: notices.append(lease.id)))
    leases = await got(any_client.queue("mail").pop("w", count=20))

    calm.cancel(*ids[5:15])

    await soon(lambda: len(notices) == 10, "all leases are notified")
    assert notices == ids[5:15]
    assert [lease.taken for lease in leases] == [None] * 5 + ["cancelled"] * 10 + [None] * 5
    await got(watch.close())


async def test_earlier_lease_of_the_same_job_is_separate(
    any_client: Any, calm: Client, clock: Clock
) -> None:
    watch = await got(any_client.watch("w"))
    first = await pop_one(any_client, calm)
    clock.tick(60)
    [second] = await got(any_client.queue("mail").pop("w"))
    await soon(lambda: first.taken == "lost", "the first lease is lost")
    assert second.taken is None

    calm.cancel("a")

    await soon(lambda: second.taken == "cancelled", "the second lease is cancelled")
    assert first.taken == "lost"
    await got(watch.close())


async def test_lease_finished_by_its_holder_is_not_lost(any_client: Any, calm: Client) -> None:
    calm.queue("mail").configure(keep_count=0)
    calm.queue("mail").put_many(range(9))
    notices: list[str] = []
    async with watching(any_client, notices) as watch:
        leases = await got(any_client.queue("mail").pop("w", count=8))
        await got(leases[0].complete())
        await got(leases[1].fail("typo"))
        await got(leases[2].release(delay=60))
        await got(any_client.leases.complete(leases[3:5]))
        await got(any_client.leases.release(leases[5:6], delay=60))
        _, more = await got(any_client.queue("mail").complete_and_pop(leases[6:7], "w"))

        assert watch._held_leases.proofs() == [
            (lease.id, lease.token) for lease in (leases[7], *more)
        ]
        calm.cancel(leases[7].id)
        await soon(lambda: notices, "the last lease is notified")

    assert notices == [f"{leases[7].id} cancelled"]


async def test_refused_finish_leaves_the_lease_watched(any_client: Any, calm: Client) -> None:
    async with watching(any_client, []) as watch:
        lease = await pop_one(any_client, calm)
        calm.core.transport.send([(0, ("SET", calm.core.key(0, "books:mail"), "no books"))])

        with pytest.raises(ScriptError):
            await got(lease.complete())

        assert watch._held_leases.proofs() == [(lease.id, lease.token)]


async def test_job_removed_by_pop_is_not_watched(any_client: Any, calm: Client) -> None:
    calm.queue("mail").configure("fifo")
    async with watching(any_client, []) as watch:
        lease = await pop_one(any_client, calm)

        assert (lease.taken, watch._held_leases.proofs()) == (None, [])


async def test_unwatched_worker_is_not_notified(any_client: Any, calm: Client) -> None:
    before = await pop_one(any_client, calm, "before")
    async with watching(any_client, []):
        calm.queue("mail").put("x", id="other")
        [other] = await got(any_client.queue("mail").pop("another worker"))
        lease = await pop_one(any_client, calm)
        calm.cancel("before", "other", "a")
        await soon(lambda: lease.taken, "the lease is notified")
    after = await pop_one(any_client, calm, "after")
    calm.cancel("after")

    assert (before.taken, other.taken, after.taken) == (None, None, None)
    assert any_client.core.held_leases == []


async def test_garbage_collected_lease_is_forgotten(any_client: Any, calm: Client) -> None:
    async with watching(any_client, []) as watch:
        lease = await pop_one(any_client, calm)
        assert len(watch._held_leases.proofs()) == 1

        del lease
        gc.collect()

        assert watch._held_leases.proofs() == []


async def test_notice_before_the_pop_returns_is_delivered(any_client: Any, calm: Client) -> None:
    notices: list[str] = []
    async with watching(any_client, notices) as watch:
        calm.queue("mail").put("x", id="a")
        [popped] = calm.queue("mail").pop("w")
        calm.cancel("a")
        await soon(lambda: watch._held_leases._early_notices, "the notice has arrived")

        lease = Lease(any_client.core, popped._popped)

        assert (lease.taken, notices) == ("cancelled", ["a cancelled"])
        assert watch._held_leases._early_notices == {}


async def test_malformed_notice_is_ignored(any_client: Any, calm: Client) -> None:
    async with watching(any_client, []):
        lease = await pop_one(any_client, calm)
        _, channel = calm.core.channel(0, "worker", "w")
        for message in (b"", b"lost", b"\x93\xa4lost\x01\x02", b"\x91\xc0"):
            calm.core.transport.send([(0, ("SPUBLISH", channel, message))])

        calm.cancel("a")

        await soon(lambda: lease.taken == "cancelled", "the watch receives the valid notice")


async def test_lost_lease_without_a_notice_is_found_by_a_check(
    any_client: Any, calm: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.operations.lease_watch.CHECK_EVERY", 0.05)
    async with watching(any_client, []):
        lease = await pop_one(any_client, calm)
        still = await pop_one(any_client, calm, "b")

        calm.core.transport.send([(0, ("DEL", calm.core.key(0, "job:a")))])

        await soon(lambda: lease.taken == "cancelled", "the watch has checked its leases")
        assert still.taken is None


async def test_number_of_early_notices_is_bounded(any_client: Any, calm: Client) -> None:
    ids = calm.queue("mail").put_many(range(MAX_EARLY_NOTICES + 200))
    async with watching(any_client, []) as watch:
        popped = [lease for _ in range(3) for lease in calm.queue("mail").pop("w", count=400)]
        calm.cancel(*ids)
        last = (popped[-1].id, popped[-1].token)
        await soon(lambda: last in watch._held_leases._early_notices, "all notices were received")

        assert len(watch._held_leases._early_notices) == MAX_EARLY_NOTICES


@proves("QL-14")
def test_each_lease_is_notified_once_while_threads_pop(calm: Client, valkey_url: str) -> None:
    """Cancel each job as soon as it runs, often before pop has returned it."""
    count = 300
    notices: list[str] = []
    leases: list[Lease] = []

    def work() -> None:
        while found := client.queue("mail").pop("w"):
            leases.extend(found)

    def cancel_what_runs() -> None:
        gone = 0
        while gone < count:
            gone += len(calm.cancel(*(job.id for job in calm.queue("mail").jobs("running").jobs)))

    calm.queue("mail").put_many(range(count))
    client, _ = open_with_clock(valkey_url, namespace=calm.core.namespace)
    with client, client.watch("w", on_taken=lambda lease, _: notices.append(lease.id)):
        with ThreadPoolExecutor(3) as threads:
            done = [threads.submit(act) for act in (work, work, cancel_what_runs)]
        for future in done:
            future.result()
        until(lambda: len(notices) == count, "all leases are notified", SOON)

    assert sorted(notices) == sorted(lease.id for lease in leases)
    assert {lease.taken for lease in leases} == {"cancelled"}


# Several watches, failing callbacks, closing.


class watching:  # noqa: N801 - used like a function in a with statement
    """A sync or async watch of worker w that records its notices."""

    def __init__(self, hr: Any, notices: list[str]) -> None:
        self.hr = hr
        self.notices = notices

    def note(self, lease: Any, why: str) -> None:
        self.notices.append(f"{lease.id} {why}")

    async def __aenter__(self) -> Any:
        self.watch = await got(self.hr.watch("w", on_taken=self.note))
        return self.watch

    async def __aexit__(self, *_: object) -> None:
        await got(self.watch.close())


async def test_two_watches_of_one_worker_are_both_notified(any_client: Any, calm: Client) -> None:
    one: list[str] = []
    two: list[str] = []
    async with watching(any_client, one), watching(any_client, two):
        lease = await pop_one(any_client, calm)
        calm.cancel("a")
        await soon(lambda: one and two, "both watches are notified")
    assert (one, two, lease.taken) == (["a cancelled"], ["a cancelled"], "cancelled")


async def test_failing_callback_is_logged_and_the_watch_continues(
    any_client: Any, calm: Client, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(lease: Any, why: str) -> None:
        raise RuntimeError(f"{lease.id} was {why}")

    watch = await got(any_client.watch("w", on_taken=fails))
    for job_id in ("a", "b"):
        lease = await pop_one(any_client, calm, job_id)
        calm.cancel(job_id)
        await soon(lambda: lease.taken, "the lease is notified")  # noqa: B023

    await soon(lambda: "b was cancelled" in caplog.text, "both errors are logged")
    assert "a was cancelled" in caplog.text
    assert {record.levelno for record in caplog.records} == {logging.ERROR}
    await got(watch.close())


async def test_closed_watch_notifies_nothing(any_client: Any, calm: Client) -> None:
    notices: list[str] = []
    async with watching(any_client, notices) as watch:
        lease = await pop_one(any_client, calm)
    await got(watch.close())

    calm.cancel("a")
    await listens(calm, 0)

    assert (lease.taken, notices) == (None, [])


async def test_closing_the_client_ends_its_watches(any_client: Any, calm: Client) -> None:
    await got(any_client.watch("w"))
    await got(any_client.watch("w"))
    await listens(calm, 2)

    await got(any_client.close())

    await listens(calm, 0)
    assert any_client.core.held_leases == []
    assert await pop_one(any_client, calm)


async def listens(calm: Client, count: int) -> None:
    _, channel = calm.core.channel(0, "worker", "w")

    def counted() -> bool:
        [reply] = calm.core.transport.send([(0, ("PUBSUB", "SHARDNUMSUB", channel))])
        return bool(reply[1] == count)

    await soon(counted, f"{count} listen")


async def test_callback_may_close_its_watch(any_client: Any, calm: Client) -> None:
    def close(_lease: Any, _why: str) -> None:
        closing = watch.close()
        if closing is not None:
            tasks.append(asyncio.ensure_future(closing))

    tasks: list[Any] = []
    watch = await got(any_client.watch("w", on_taken=close))
    lease = await pop_one(any_client, calm)

    calm.cancel("a")

    await soon(lambda: lease.taken, "the lease is notified")
    await listens(calm, 0)
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("closes", ["", "hr.close()", "watch.close()"])
def test_open_watch_does_not_keep_the_program_running(valkey_url: str, closes: str) -> None:
    ran = run_python(
        "import sys, headrace\n"
        f"hr = headrace.connect(sys.argv[1], namespace='ends-{uuid4().hex}')\n"
        "watch = hr.watch('w')\n"
        "hr.queue('mail').put(1)\n"
        "[lease] = hr.queue('mail').pop('w')\n"
        f"{closes}\n"
        "print(lease.taken)",
        valkey_url,
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("None\n", "", 0)


@pytest.mark.parametrize(
    ("worker", "on_taken"), [("", None), ("a\0", None), (None, None), ("w", 5), ("w", "f")]
)
async def test_invalid_arguments_of_watch_are_refused(
    any_client: Any, worker: Any, on_taken: Any
) -> None:
    with pytest.raises(InvalidArgument):
        await got(any_client.watch(worker, on_taken=on_taken))
    assert any_client.core.held_leases == []


async def test_coroutine_function_as_callback_is_refused(any_client: Any) -> None:
    async def awaited(_lease: Any, _why: str) -> None: ...

    with pytest.raises(InvalidArgument, match="plain function"):
        await got(any_client.watch("w", on_taken=awaited))


# Broken connections.


@pytest.fixture(params=CLIENT_KINDS)
async def far(request: pytest.FixtureRequest, way: Way, calm: Client) -> AsyncIterator[Any]:
    """A client whose connection to the server can be cut."""
    namespace = calm.core.namespace
    async with opened(request.param, way.url, namespace=namespace, retry_for=1) as client:
        yield client


@proves("QL-14")
async def test_lease_lost_while_disconnected_is_notified_after_reconnecting(
    far: Any, calm: Client, way: Way
) -> None:
    notices: list[str] = []
    calm.queue("mail").configure(keep_count=0)
    calm.queue("mail").put_many(range(5))
    async with watching(far, notices):
        kept, cancelled, lost, ended, finished = await got(far.queue("mail").pop("w", count=5))
        await got(ended.complete())
        way.close()
        calm.cancel(cancelled.id)
        calm.timeout(lost.id)
        calm.finish(finished.id)
        way.open()

        await soon(lambda: len(notices) == 3, "three leases are notified")
        assert (kept.taken, cancelled.taken, lost.taken) == (None, "cancelled", "lost")
        assert (ended.taken, finished.taken) == (None, "cancelled")
        await listens(calm, 1)
        calm.timeout(kept.id)
        await soon(lambda: kept.taken == "lost", "the watch continues")


async def test_watch_survives_a_long_outage(
    far: Any, calm: Client, way: Way, caplog: pytest.LogCaptureFixture
) -> None:
    async with watching(far, []):
        lease = await pop_one(far, calm)
        way.close()
        await asyncio.to_thread(
            until,
            lambda: "lost leases are not noticed" in caplog.text,
            "the watch logs a warning",
            20.0,
        )
        calm.cancel("a")
        way.open()

        await asyncio.to_thread(
            until, lambda: bool(lease.taken), "the watch receives notices again", 20.0
        )
    assert lease.taken == "cancelled"


async def test_lost_check_is_repeated(far: Any, calm: Client, way: Way) -> None:
    async with watching(far, []):
        lease = await pop_one(far, calm)
        way.close()
        calm.cancel("a")
        way.lose(mark(calm, "check_leases"), "before the answer")
        way.open()

        await soon(lambda: lease.taken == "cancelled", "the lease is notified")


async def test_watch_that_cannot_subscribe_raises(far: Any, way: Way) -> None:
    way.close()

    with pytest.raises(ServerUnavailable):
        await got(far.watch("w"))

    assert far.core.held_leases == []
