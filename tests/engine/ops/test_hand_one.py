"""hand_one: a worker that found no job offers to take the next one, and gets it directly."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace
from headrace import Client, Job, LeaseLost, Queue
from headrace.engine.call import Call, build
from headrace.engine.record import decode_record, text_bytes
from headrace.operations.requests import ask_one
from headrace.testing import Clock, open_with_clock
from headrace.transport.drive import drive
from tests.model.jobs.checks.hand_over import OFFER, hand_over_equals_put_and_pop, pop, put
from tests.support.channels import commands, listening
from tests.support.dump import dump


def found(hr: Client, job_id: str) -> Job:
    job = hr.job(job_id)
    assert job is not None
    return job


def hand_call() -> Call[int]:
    return build("hand_one", int, queue="mail", id="new", data=b"1")


def hand(hr: Client) -> int:
    return int(drive(hr.core.transport, ask_one(hr.core, 0, hand_call())))


@pytest.fixture
def idle(hr: Client, queue: Queue) -> Queue:
    """Return an empty queue with an offer of the worker w."""
    hr.session("w", ttl=3)
    queue.put("the first of a day", id="first")
    queue.pop("w")[0].complete()
    assert pop(queue).jobs == []
    return queue


def test_next_job_is_handed_to_the_worker_that_offered(
    hr: Client, idle: Queue, url: str, clock: Clock
) -> None:
    with listening(hr, url, "worker:w") as worker, listening(hr, url, "queue:mail") as others:
        job_id = idle.put({"to": "ada"})

        job = found(hr, job_id)
        assert (job.state, job.worker, job.attempt, job.expires) == ("running", "w", 1, None)
        [(_, message)] = worker.heard()
        assert others.messages() == []
    word, told_id, packed = msgspec.msgpack.decode(message, type=tuple[str, str, msgspec.Raw])
    record = decode_record(text_bytes(packed))
    assert (word, told_id, record.worker, record.inline_data()) == (
        "handed",
        job_id,
        "w",
        b'{"to":"ada"}',
    )
    assert (idle.counts().running, idle.stats().wait.count) == (1, 2)
    assert hr.audit().balanced
    clock.tick(3)
    assert [lease.id for lease in idle.pop("other")] == [job_id]
    assert hr.audit().balanced


def test_an_offer_brings_one_job(hr: Client, idle: Queue, url: str) -> None:
    first = idle.put(1)
    with listening(hr, url, "queue:mail") as others:
        second = idle.put(2)
        assert others.messages() == ["work 1"]

    assert [found(hr, job_id).state for job_id in (first, second)] == ["running", "waiting"]


def later(hr: Client, _queue: Queue, clock: Clock) -> None:
    clock.tick(OFFER)
    hr.session("w", ttl=3)


def due(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put("x", delay=1)
    clock.tick(1)


def late(_hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put("x", priority=1)
    queue.pop("o", lease=1)
    clock.tick(1)


WAITS: dict[str, Callable[[Client, Queue, Clock], object]] = {
    "the offer has ended": later,
    "the session has ended": lambda hr, *_: hr.workers.end("w"),
    "the session has lapsed": lambda _hr, _queue, clock: clock.tick(3),
    "the queue is paused": lambda _hr, queue, _clock: queue.pause(),
    "all queues are paused": lambda hr, *_: hr.config.set("paused", True),
    "the queue is limited": lambda _hr, queue, _clock: queue.configure(concurrency=5),
    "sessions do not count there": lambda _hr, queue, _clock: queue.configure(session="none"),
    "the worker got something else": lambda _hr, queue, _clock: (
        queue.put_many([1, 2]),
        pop(queue, count=2),
    ),
    "something waits": lambda _hr, queue, _clock: queue.put_many([1, 2]),
    "something is due": due,
    "a lease has ended": late,
    "somebody has pushed": lambda hr, *_: hr.core.transport.send(
        [(0, ("LPUSH", hr.core.key(0, "ingress:mail"), "x"))]
    ),
}


@pytest.mark.parametrize("case", WAITS)
def test_a_job_waits_as_usual_if(hr: Client, idle: Queue, clock: Clock, case: str) -> None:
    WAITS[case](hr, idle, clock)

    put(idle, "next")

    assert found(hr, "next").state == "waiting"
    assert hr.audit().balanced


@pytest.mark.parametrize(
    "options", [{"priority": 1}, {"tags": ["x"]}, {"delay": 1}, {"id": "x"}, {"unique": True}]
)
def test_a_job_with_options_waits_as_usual(
    hr: Client, idle: Queue, options: dict[str, Any]
) -> None:
    assert found(hr, idle.put("x", **options)).worker == ""


def test_many_jobs_wait_as_usual(hr: Client, idle: Queue) -> None:
    assert {job.state for job in hr.jobs(idle.put_many([1, 2]))} == {"waiting"}


def test_the_first_job_of_a_day_waits_as_usual(hr: Client, idle: Queue, clock: Clock) -> None:
    hr.session("w", ttl=10**6)
    pop(idle, offer=10**6)
    clock.tick(86_400)

    put(idle, "next")

    assert found(hr, "next").state == "waiting"


def test_without_an_offer_nothing_is_done(hr: Client, queue: Queue) -> None:
    queue.put("first", id="first")
    before = dump(hr)

    assert hand(hr) == 2

    assert dump(hr) == before


@pytest.mark.parametrize("case", WAITS)
def test_only_the_offer_is_dropped_if(hr: Client, idle: Queue, clock: Clock, case: str) -> None:
    WAITS[case](hr, idle, clock)
    before = without_offer(hr)

    assert hand(hr) in (0, 2)

    assert without_offer(hr) == before


def without_offer(hr: Client) -> dict[str, Any]:
    seen = dump(hr)
    where = hr.core.key(0, "settings:mail")
    kind, fields = seen[where]
    return seen | {where: (kind, [field for field in fields if field[0] != b"idle"])}


@pytest.mark.usefixtures("idle")
def test_repeated_it_hands_nothing_a_second_time(hr: Client) -> None:
    assert hand(hr) == 1
    before = dump(hr)

    assert hr.core.transport.send([(0, hr.core.words(0, hand_call(), again=True))]) == [1]

    assert dump(hr) == before


def test_worker_that_stopped_serving_is_handed_nothing(hr: Client, queue: Queue) -> None:
    queue.configure(session="required")
    session = hr.session("w", ttl=3)
    session.serve("mail")
    queue.put("the first of a day")
    queue.pop("w")[0].complete()
    assert pop(queue).jobs == []
    session.unserve("mail")

    assert found(hr, queue.put("next")).state == "waiting"


async def test_bulk_put_does_not_change_the_preferred_script(idle: Queue, url: str) -> None:
    namespace = idle.core.namespace
    library = idle.core.library
    async with await headrace.connect_async(url, namespace=namespace, library=library) as hr:
        await hr.queue("mail").put("handed")
        pop(idle, count=9, offer=0)
        for _ in range(2):
            with commands(url) as sent:
                await asyncio.gather(*(hr.queue("mail").put(n) for n in range(50)))
            tried = sum(command.startswith("EVALSHA") for command in sent)

    assert tried == 50


def test_repeated_single_puts_use_the_fastest_script(hr: Client, idle: Queue, url: str) -> None:
    ops = {hr.core.library[op].sha: op for op in ("put_one", "hand_one", "put")}
    tried = []
    for offers in (True, True, False, False, False):
        if offers:
            pop(idle, count=9)
            pop(idle)
        with commands(url) as sent:
            idle.put(1)
        tried.append([ops[command.split()[1]] for command in sent])

    assert tried == [
        ["put_one", "hand_one"],
        ["hand_one"],
        ["hand_one", "put_one"],
        ["put_one"],
        ["put_one"],
    ]
    assert hr.audit().balanced


def test_the_latest_offer_counts(hr: Client, idle: Queue) -> None:
    hr.session("v", ttl=3)
    pop(idle, "v")

    assert found(hr, idle.put(1)).worker == "v"


def test_pop_without_an_offer_is_handed_nothing(hr: Client, queue: Queue) -> None:
    hr.session("w", ttl=3)
    queue.put("made")
    assert len(queue.pop("w", count=5, lease=math.inf)) == 1

    assert found(hr, queue.put(1)).state == "waiting"


def test_an_offer_without_a_queue_makes_none(hr: Client, queue: Queue) -> None:
    hr.session("w", ttl=3)
    before = dump(hr)

    pop(queue)

    assert dump(hr) == before


def test_token_of_a_handed_over_job_is_valid(
    hr: Client, idle: Queue, clock: Clock, url: str
) -> None:
    with listening(hr, url, "worker:w") as worker:
        job_id = idle.put(1)
        [(_, message)] = worker.heard()
    record = decode_record(text_bytes(msgspec.msgpack.decode(message, type=list[msgspec.Raw])[2]))
    clock.tick(3)
    [second] = idle.pop("other")

    second.token, good = record.token, second.token
    with pytest.raises(LeaseLost):
        second.complete()
    second.token = good
    assert (second.id, second.complete()) == (job_id, "complete")


def test_handed_over_job_has_no_other_difference(valkey_url: str) -> None:
    hand_over_equals_put_and_pop(valkey_url, {})


@settings(max_examples=40, deadline=None)
@given(
    data=st.binary(max_size=1500),
    before=st.integers(0, 3),
    got=st.integers(0, 2),
    own=st.fixed_dictionaries(
        {},
        optional={
            "stats": st.booleans(),
            "retries": st.sampled_from([None, 0, 7]),
            "history": st.sampled_from([0, 2]),
            "event_data": st.sampled_from([0, 3, 16_384]),
            "lease": st.sampled_from([None, 1, 60]),
            "session": st.sampled_from(["optional", "required"]),
        },
    ),
)
def test_hand_over_equals_put_and_pop(
    valkey_url: str, data: bytes, before: int, got: int, own: dict[str, Any]
) -> None:
    dumps = []
    handed = False
    for offer in (OFFER, 0.0):
        hr, clock = open_with_clock(valkey_url, namespace="test-hand-over")
        with hr:
            hr.core.transport.send([(0, ("FLUSHALL",))])
            clock.set(clock.now)
            queue = hr.queue("mail")
            token = hr.session("w", ttl=100)
            token.serve("mail")
            queue.configure(**own)
            for n in range(max(1, before)):
                put(queue, f"before {n}")
            pop(queue, count=10, offer=0)
            for n in range(got):
                put(queue, f"got {n}")
            pop(queue, count=got + 1, offer=0)
            pop(queue, offer=offer)
            clock.tick(1)
            put(queue, "next", data)
            if offer:
                handed = found(hr, "next").state == "running"
            elif handed:
                pop(queue, offer=0)
            assert hr.audit().balanced
            # The unused offer is still there.
            hr.core.transport.send([(0, ("HDEL", hr.core.key(0, "settings:mail"), "idle"))])
            seen = dump(hr)
        dumps.append({name: value for name, value in seen.items() if "session" not in name})
    assert dumps[0] == dumps[1]
    # A large job takes the general path and waits as usual. So does a job that must not be lost.
    assert handed == (len(data) <= 1024 and own.get("retries") != 0)
