"""Failures have a type, a message and a traceback of bounded size, however often a job fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace import Client, Fail, InvalidArgument, JobNotFound, Queue
from headrace.engine.record import FIELDS
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.clients import CLIENT_KINDS, got, opened
from tests.support.dump import dump
from tests.support.jobs import found, pop_one

LONG = "é" * 20_000


@pytest.fixture(scope="module")
def valkey_hr(valkey_url: str) -> Iterator[Client]:
    """A client that all examples share."""
    with open_with_clock(valkey_url)[0] as client:
        yield client


def record_size(hr: Client, job_id: str) -> int:
    [size] = hr.core.transport.send([(0, ("STRLEN", hr.core.key(0, f"job:{job_id}")))])
    return int(size)


@proves("Q-80")
def test_a_failure_has_a_traceback_and_so_has_its_attempt(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")
    clock.tick(5)

    pop_one(queue, worker="w1").fail("bug", "no é", traceback="Traceback\n  line 1\nno é")

    job = found(hr, "x")
    assert job.failure is not None
    assert (job.failure.type, job.failure.message) == ("bug", "no é")
    assert job.failure.traceback == "Traceback\n  line 1\nno é"
    [stage] = job.history
    assert (stage.message, stage.traceback) == ("no é", job.failure.traceback)


@proves("Q-76")
def test_end_of_a_long_traceback_is_kept(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x")

    pop_one(queue).fail("bug", traceback=LONG + "the end")

    failure = found(hr, "x").failure
    assert failure is not None
    assert failure.traceback.startswith("... é")
    assert failure.traceback.endswith("éthe end")
    assert 8190 <= len(failure.traceback.encode()) <= 8192


@proves("Q-80")
def test_newest_failure_is_complete_and_older_ones_are_shortened(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")
    for attempt in range(3):
        clock.tick(1)
        lease = pop_one(queue)
        lease.fail("bug", f"{attempt}{LONG}", traceback=f"trace {attempt}", retry_in=0)

    first, second, third, present = found(hr, "x").history

    assert [len(stage.message.encode()) for stage in (first, second)] == [1023, 1023]
    assert (first.message[:3], first.traceback, second.traceback) == ("0éé", "", "")
    assert (third.message, third.traceback) == (f"2{LONG}", "trace 2")
    assert (present.failure, present.message, present.traceback) == ("", "", "")
    clock.tick(1)
    pop_one(queue).fail("dull")
    job = found(hr, "x")
    assert job.failure is not None
    assert (job.failure.message, job.failure.traceback) == ("", "")
    assert [stage.traceback for stage in job.history] == [""] * 4
    assert len(job.history[2].message.encode()) == 1023


def test_details_of_an_older_failure_are_not_shown_for_a_newer_one(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.put(1, id="x")
    pop_one(queue).fail("bug", "why", traceback="where", retry_in=0)
    hr.config.set("history", 0)
    clock.tick(1)
    pop_one(queue).fail("worse", "whether", traceback="elsewhere")

    job = found(hr, "x")

    assert job.failure is not None
    assert job.failure.traceback == "elsewhere"
    assert [(stage.failure, stage.message, stage.traceback) for stage in job.history] == [
        ("bug", "why", "")
    ]


@proves("Q-80")
def test_job_stays_small_however_often_it_fails(hr: Client, queue: Queue) -> None:
    queue.put(1, id="x", retries=None)
    for _ in range(120):
        pop_one(queue).fail("bug", "x" * 60_000, traceback="y" * 60_000, retry_in=0)

    assert record_size(hr, "x") < 120_000
    assert len(found(hr, "x").history) == 101
    [lease] = queue.pop("w")
    assert all(len(stage.message) <= 1024 for stage in lease.job.history)
    lease.complete()
    assert found(hr, "x").history[-2].traceback.endswith("yyy")
    hr.queue("mail").configure(keep_count=0)
    hr.queue("mail").put(2)
    hr.sweep()
    assert hr.core.transport.send([(0, ("EXISTS", hr.core.key(0, "notes:x")))]) == [0]


def test_a_lost_job_that_fails_has_no_traceback(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="x", retries=1)
    pop_one(queue).fail("bug", "why", traceback="where", retry_in=0)
    pop_one(queue, lease=10)
    clock.tick(10)
    assert queue.pop("w2") == []

    failure = found(hr, "x").failure

    assert failure is not None
    assert (failure.type, failure.traceback) == ("retries exhausted", "")


@proves("Q-76")
@settings(max_examples=40, deadline=None)
@given(message=st.text(min_size=900, max_size=1100), tail=st.text("aé😀", max_size=400))
@example(message="a" * 1023, tail="é")
@example(message="a" * 1021, tail="😀")
@example(message="a" * 1024, tail="")
def test_message_is_never_cut_inside_a_character(
    valkey_hr: Client, message: str, tail: str
) -> None:
    whole = (message + tail).encode(errors="replace").decode()
    queue = valkey_hr.queue("mail")
    job_id = queue.put(1)
    pop_one(queue).fail("bug", whole, retry_in=0)
    pop_one(queue).fail("bug", whole)

    first, second = found(valkey_hr, job_id).history

    short = whole.encode()[:1024].decode(errors="ignore")
    assert second.message == whole
    assert first.message in (short, whole)
    valkey_hr.retry(job_id)
    pop_one(queue).fail("other")
    assert [stage.message for stage in found(valkey_hr, job_id).history] == [short, short, ""]
    valkey_hr.cancel(job_id)


def test_records_of_older_versions_can_be_read_and_changed(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    """Older versions stored whole messages in records, and history entries without an error."""
    queue.put(1, id="x")
    pop_one(queue).fail("bug", "short")
    name = hr.core.key(0, "job:x")
    [packed] = hr.core.transport.send([(0, ("GET", name))])
    record = msgspec.msgpack.decode(packed)
    record[FIELDS.index("extra")]["failure"][1] = LONG
    record[FIELDS.index("history")][0][7] = LONG
    hr.core.transport.send([(0, ("SET", name, msgspec.msgpack.encode(record)))])

    job = found(hr, "x")
    assert job.failure is not None
    assert (job.failure.message, job.failure.traceback) == (LONG, "")
    assert job.history[0].message == LONG
    assert hr.retry("x") == ["waiting"]
    clock.tick(1)
    pop_one(queue).fail("bug", "new", traceback="trace")
    assert [stage.traceback for stage in found(hr, "x").history] == ["", "trace"]


# many in one call


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_many_leases_fail_each_with_its_own_error(
    valkey_url: str, kind: str, shards: int
) -> None:
    space = f"fail-{uuid4().hex[:12]}"
    async with opened(kind, valkey_url, namespace=space, shards=shards) as hr:
        ids = await got(hr.queue("mail").put_many(range(40)))
        leases: list[Any] = []
        while len(leases) < 40:
            leases += await got(hr.queue("mail").pop("w", count=40))
        lost = leases.pop()
        await got(hr.cancel(lost.id))
        items = [
            Fail(
                lease,
                f"type {lease.data % 3}",
                f"why {lease.data}",
                traceback=f"trace {lease.data}",
                retry_in=[None, 0, 30][lease.data % 3],
                **({"data": "new"} if lease.data % 2 else {}),
            )
            for lease in leases
        ]
        states = [["failed", "waiting", "scheduled"][lease.data % 3] for lease in leases]

        *answers, refused = await got(hr.leases.fail([*items, Fail(lost, "late")]))

        assert answers == states
        assert isinstance(refused, JobNotFound)
        for lease, job in zip(
            leases, await got(hr.jobs([lease.id for lease in leases])), strict=True
        ):
            stage = job.history[0]
            assert stage.failure == f"type {lease.data % 3}"
            assert (stage.message, stage.traceback) == (f"why {lease.data}", f"trace {lease.data}")
            assert job.data == ("new" if lease.data % 2 else lease.data)
        assert len(ids) == 40
        assert await got(hr.leases.fail([])) == []


@pytest.mark.parametrize(
    "wrong",
    [
        5,
        "x",
        [5],
        [None],
        [("lease", "bug")],
        [Fail("no lease", "bug")],
    ],
    ids=repr,
)
def test_job_that_cannot_fail_is_refused(hr: Client, queue: Queue, wrong: Any) -> None:
    queue.put(1)
    pop_one(queue)
    before = dump(hr)
    with pytest.raises(InvalidArgument):
        hr.leases.fail(wrong)
    assert dump(hr) == before
