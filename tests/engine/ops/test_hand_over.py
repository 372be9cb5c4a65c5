"""A worker that found no job offers to take the next job, and a put hands the job over."""

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
from headrace.engine.record import decode_record, text_bytes
from headrace.operations.popping import Handout, pop_call
from headrace.operations.putting import put_call
from headrace.testing import Clock, open_with_clock
from tests.model.jobs.checks.hand_over import OFFER, SECRET, hand_over_equals_put_and_pop, pop, put
from tests.model.jobs.checks.single_put import asked, one, put_one
from tests.support.channels import commands, listening
from tests.support.dump import dump


def found(hr: Client, job_id: str) -> Job:
    job = hr.job(job_id)
    assert job is not None
    return job


def hand(hr: Client) -> int:
    return put_one(hr, "new")


def make_idle(hr: Client, offer: float) -> Queue:
    """Return an empty queue with an offer of the worker w; 0 is no offer."""
    queue = hr.queue("mail")
    hr.session("w", ttl=3)
    assert put_one(hr, "first") == 1
    assert len(pop(queue).jobs) == 1
    hr.finish("first")
    assert pop(queue, offer=offer).jobs == []
    return queue


@pytest.fixture
def idle(hr: Client) -> Queue:
    """Return an empty queue with an offer of the worker w."""
    return make_idle(hr, OFFER)


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


def make(hr: Client, *job_ids: str, **options: int) -> None:
    """Put jobs with known ids, which all have the same options."""
    jobs = [(job_id, b"1") for job_id in job_ids]
    asked(hr, put_call("mail", jobs, options))


def pop_leased(hr: Client, queue: Queue) -> Handout:
    """Pop a job for the worker o, with a lease of a second."""
    call = pop_call(queue, "o", 1, 1, 0)(1)
    call.args = (*call.args[:2], SECRET, *call.args[3:])
    handout: Handout = asked(hr, call)
    return handout


def due(hr: Client, _queue: Queue, clock: Clock) -> None:
    make(hr, "x", delay=1000)
    clock.tick(1)


def late(hr: Client, queue: Queue, clock: Clock) -> None:
    make(hr, "x", priority=1)
    assert len(pop_leased(hr, queue).jobs) == 1
    clock.tick(1)


def got_something(hr: Client, queue: Queue, _clock: Clock) -> None:
    make(hr, "x", "y")
    pop(queue, count=2)


WAITS: dict[str, Callable[[Client, Queue, Clock], object]] = {
    "the offer has ended": later,
    "the session has ended": lambda hr, *_: hr.workers.end("w"),
    "the session has expired": lambda _hr, _queue, clock: clock.tick(3),
    "the queue is paused": lambda _hr, queue, _clock: queue.pause(),
    "all queues are paused": lambda hr, *_: hr.config.set("paused", True),
    "the queue is limited": lambda _hr, queue, _clock: queue.configure(concurrency=5),
    "the queue ignores sessions": lambda _hr, queue, _clock: queue.configure(session="none"),
    "the worker popped another job": got_something,
    "another job waits": lambda hr, *_: make(hr, "x", "y"),
    "another job is due": due,
    "a lease has expired": late,
    "another program pushed a payload": lambda hr, *_: hr.core.transport.send(
        [(0, ("LPUSH", hr.core.key(0, "ingress:mail"), "x"))]
    ),
}


@pytest.mark.parametrize("case", WAITS)
def test_job_is_not_handed_over_if(hr: Client, idle: Queue, clock: Clock, case: str) -> None:
    WAITS[case](hr, idle, clock)

    put(idle, "next")

    assert found(hr, "next").state == "waiting"
    assert hr.audit().balanced


@pytest.mark.parametrize(
    "options", [{"priority": 1}, {"tags": ["x"]}, {"delay": 1}, {"id": "x"}, {"unique": True}]
)
def test_job_with_options_is_not_handed_over(
    hr: Client, idle: Queue, options: dict[str, Any]
) -> None:
    assert found(hr, idle.put("x", **options)).worker == ""


def test_batch_of_jobs_is_not_handed_over(hr: Client, idle: Queue) -> None:
    assert {job.state for job in hr.jobs(idle.put_many([1, 2]))} == {"waiting"}


def test_the_first_job_of_a_day_is_handed_over_as_by_put_and_pop(valkey_url: str) -> None:
    dumps = []
    for offer in (10.0**6, 0.0):
        hr, clock = open_with_clock(valkey_url)
        with hr:
            queue = make_idle(hr, 0)
            hr.session("w", ttl=10**6)
            pop(queue, offer=offer)
            clock.tick(86_400)
            put(queue, "next")
            assert found(hr, "next").state == ("running" if offer else "waiting")
            if not offer:
                pop(queue, offer=0)
            assert (queue.stats().wait.count, hr.audit().balanced) == (1, True)
            dumps.append(without_offer(hr))
    assert dumps[0] == dumps[1]


def test_job_without_an_offer_is_not_handed_over(hr: Client, queue: Queue, url: str) -> None:
    hr.session("w", ttl=3)
    queue.put("first", id="first")

    with listening(hr, url, "worker:w") as worker, listening(hr, url, "queue:mail") as others:
        assert hand(hr) == 1
        assert (worker.heard(), others.messages()) == ([], ["work 1"])

    assert (found(hr, "new").state, found(hr, "new").worker) == ("waiting", "")


@pytest.mark.parametrize("case", WAITS)
def test_offer_has_no_other_effect_if(valkey_url: str, case: str) -> None:
    dumps = []
    for offer in (OFFER, 0.0):
        hr, clock = open_with_clock(valkey_url)
        with hr:
            WAITS[case](hr, make_idle(hr, offer), clock)
            assert hand(hr) == 1
            dumps.append(without_offer(hr))
    assert "job:new" in dumps[0]
    assert dumps[0] == dumps[1]


@pytest.mark.parametrize(
    "case", ["the offer has ended", "the session has ended", "the queue is paused"]
)
def test_unusable_offer_is_withdrawn(hr: Client, idle: Queue, clock: Clock, case: str) -> None:
    WAITS[case](hr, idle, clock)
    assert offers(hr) == [1]

    hand(hr)

    assert offers(hr) == [0]


def offers(hr: Client) -> Any:
    return hr.core.transport.send([(0, ("HEXISTS", hr.core.key(0, "settings:mail"), "idle"))])


def without_offer(hr: Client) -> dict[str, Any]:
    """Return the content of the namespace without the offer and the sessions with their tokens."""
    prefix = hr.core.key(0, "")
    seen = {name.removeprefix(prefix): value for name, value in dump(hr).items()}
    kind, fields = seen["settings:mail"]
    seen["settings:mail"] = kind, [field for field in fields if field[0] != b"idle"]
    return {name: value for name, value in seen.items() if not name.startswith("session:")}


@pytest.mark.usefixtures("idle")
def test_repeated_it_hands_nothing_a_second_time(hr: Client) -> None:
    assert hand(hr) == 1
    before = dump(hr)

    assert hr.core.transport.send(
        [(0, hr.core.words(0, one("mail", "new", b"1"), again=True))]
    ) == [[0]]

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


async def test_many_puts_at_once_are_one_call_each(idle: Queue, url: str) -> None:
    namespace = idle.core.namespace
    library = idle.core.library
    async with await headrace.connect_async(url, namespace=namespace, library=library) as hr:
        await hr.queue("mail").put("handed")
        pop(idle, count=9, offer=0)
        for _ in range(2):
            with commands(url) as sent:
                await asyncio.gather(*(hr.queue("mail").put(n) for n in range(50)))
            tried = [command.split()[1] for command in sent if command.startswith("FCALL")]
            assert tried == [hr.core.library.operations["put"].name] * 50


def test_a_put_is_one_call_with_and_without_an_offer(hr: Client, idle: Queue, url: str) -> None:
    tried, states = [], []
    for offers in (True, True, False, False, False):
        if offers:
            pop(idle, count=9)
            pop(idle)
        with commands(url) as sent:
            job_id = idle.put(1)
        tried.append([command.split()[1] for command in sent])
        states.append(found(hr, job_id).state)

    assert tried == [[hr.core.library.operations["put"].name]] * 5
    assert states == ["running", "running", "waiting", "waiting", "waiting"]
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
            # Delete the unused offer, which the other dump does not contain.
            hr.core.transport.send([(0, ("HDEL", hr.core.key(0, "settings:mail"), "idle"))])
            seen = dump(hr)
        dumps.append({name: value for name, value in seen.items() if "session" not in name})
    assert dumps[0] == dumps[1]
    # A large job and a job without retries are not handed over.
    assert handed == (len(data) <= 1024 and own.get("retries") != 0)
