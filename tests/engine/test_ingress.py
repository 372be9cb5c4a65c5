"""Ingress: payloads that other programs push to the list of a queue become jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import headrace
from headrace import Client, InvalidArgument, Queue, QueueNotFound, SessionRequired
from headrace.engine.check import text
from headrace.engine.shard import ingress_ids, shard_of
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support import servers
from tests.support.channels import listening, meanwhile, until_listened_to
from tests.support.dump import dump
from tests.support.jobs import drain, found, ids, pop_one


def push(hr: Client, queue: str, *elements: str | bytes, shard: int = 0) -> None:
    """Push elements with Redis list commands, as a program without Headrace does."""
    [length] = hr.core.transport.send([(shard, ("LPUSH", where(hr, queue, shard), *elements))])
    assert length >= len(elements)


def where(hr: Client, queue: str, shard: int = 0) -> str:
    return hr.core.key(shard, f"ingress:{queue}")


def left(hr: Client, queue: str) -> int:
    [length] = hr.core.transport.send([(0, ("LLEN", where(hr, queue)))])
    return int(length)


@proves("R-01")
def test_pushed_payload_becomes_a_job_at_the_next_pop(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    push(hr, "mail", '{"to": "ada"}')
    assert (hr.queues(), queue.length()) == ({}, 0)
    clock.tick(5)

    lease = pop_one(queue, "w")

    assert (lease.data, lease.attempt, lease.popped_at) == ({"to": "ada"}, 1, clock.now)
    put, popped = hr.events()
    assert (put.kind, put.reason, put.data) == ("put", "ingress", b'{"to": "ada"}')
    assert (put.at, popped.wait) == (clock.now, 0)
    assert found(hr, lease.id).state == "running"
    assert list(hr.queues()) == ["mail"]
    assert hr.audit().problems == []
    assert lease.complete("done") == "complete"
    assert hr.result(lease.id).value == "done"


@proves("R-01")
def test_oldest_payload_comes_first_and_behind_waiting_jobs(hr: Client, queue: Queue) -> None:
    queue.put("first")
    push(hr, "mail", '"second"', '"third"')
    push(hr, "mail", '"fourth"')
    queue.put("last", priority=1)

    assert [lease.data for lease in queue.pop("w", count=9)] == [
        "first",
        "second",
        "third",
        "fourth",
        "last",
    ]


@pytest.mark.parametrize("element", [b"", b"\0\xff\xc2", b"x" * 1024, b"x" * 1025, b"x" * 100_000])
def test_payload_is_returned_as_pushed(url: str, element: bytes) -> None:
    hr, _ = open_with_clock(url, codec="raw")
    with hr:
        push(hr, "mail", element)

        assert pop_one(hr.queue("mail")).payload == element
        assert hr.audit().problems == []


def test_limits_apply_to_pushed_payloads(hr: Client, queue: Queue) -> None:
    queue.configure(concurrency=2)
    push(hr, "mail", "1", "2", "3")

    first, second = queue.pop("w", count=9)

    assert queue.pop("w") == []
    first.complete()
    assert [lease.data for lease in queue.pop("w", count=9)] == [3]
    assert second.data == 2
    assert hr.audit().problems == []


def test_long_ingress_list_is_drained_in_several_calls(hr: Client, queue: Queue) -> None:
    push(hr, "mail", *(f"{number}" for number in range(600)))

    assert pop_one(queue).data == 0

    assert (left(hr, "mail"), queue.counts().waiting) == (600 - 32, 31)
    served = [lease.data for lease in queue.pop("w", count=500)]
    while leases := queue.pop("w", count=500):
        served += [lease.data for lease in leases]
    assert served == list(range(1, 600))
    assert (left(hr, "mail"), hr.audit().problems) == (0, [])


def test_call_drains_fewer_large_payloads(hr: Client, queue: Queue) -> None:
    push(hr, "mail", *[b'"' + b"x" * 200_000 + b'"'] * 100)

    pop_one(queue)

    assert left(hr, "mail") == 100 - 6
    assert len(drain(queue)) == 99


def test_sweep_takes_in_all_pushed_payloads(hr: Client, queue: Queue) -> None:
    queue.put("there is a queue")
    push(hr, "mail", *["1"] * 600)

    hr.sweep()

    assert (left(hr, "mail"), queue.counts().waiting) == (0, 601)


def test_peek_takes_in_pushed_payloads(hr: Client, queue: Queue) -> None:
    push(hr, "mail", "1", "2", "3")

    shown = queue.peek(2)

    assert [job.data for job in shown] == [1, 2]
    assert ids(queue.pop("w", count=2)) == ids(shown)


@proves("R-01")
def test_each_ingress_element_becomes_a_job_once(hr: Client, queue: Queue) -> None:
    push(hr, "mail", *(f"{number}" for number in range(300)))

    got = Counter(lease.data for name in "abc" for lease in queue.pop(name, count=100))

    assert got == Counter(range(300))


def test_taken_in_payloads_wake_waiting_workers(hr: Client, queue: Queue, url: str) -> None:
    push(hr, "mail", "1", "2", "3")
    with listening(hr, url, "queue:mail") as waiters:
        pop_one(queue)

        assert waiters.messages() == ["work 2"]


def test_producer_can_wake_a_waiting_worker(hr: Client, queue: Queue) -> None:
    with meanwhile(lambda: queue.pop("w", wait=20)) as popping:
        until_listened_to(hr, "queue:mail")
        push(hr, "mail", "1")
        hr.core.transport.send([(0, ("SPUBLISH", hr.core.key(0, "queue:mail"), "work 1"))])

        [lease] = popping.result(timeout=4)
    assert lease.data == 1


def test_generated_ids_skip_ids_given_by_users(hr: Client, queue: Queue) -> None:
    taken = [f"ingress-{number}" for number in range(1, 1000)]
    queue.put_many([headrace.Put("mine", id=name, priority=1) for name in taken])
    push(hr, "mail", '"pushed"', '"pushed"')

    leases = queue.pop("w", count=2)

    assert [lease.data for lease in leases] == ["pushed", "pushed"]
    assert {lease.id for lease in leases}.isdisjoint(taken)
    assert queue.counts().waiting == 999


def test_an_id_is_not_given_twice(hr: Client, queue: Queue) -> None:
    queue.configure(keep_count=0)
    seen = set()
    for _ in range(3):
        push(hr, "mail", "1")
        lease = pop_one(queue)
        seen.add(lease.id)
        lease.complete()

    assert len(seen) == 3


# payloads that are the job id


@pytest.fixture
def ring(hr: Client) -> Queue:
    queue = hr.queue("round")
    queue.configure("ring")
    return queue


@proves("R-01", "RD-04")
def test_ring_takes_a_pushed_payload_as_the_job_id(hr: Client, ring: Queue, clock: Clock) -> None:
    push(hr, "round", "a", "b", "a")
    assert ids(ring.pop("w", count=9)) == ["a", "b"]
    push(hr, "round", "a")
    assert ring.pop("w") == []
    clock.tick(30)
    assert ids(ring.pop("w", count=9)) == ["a", "b"]

    hr.finish("a")
    push(hr, "round", "a")

    assert ids(ring.pop("w", count=9)) == ["a"]
    assert hr.audit().problems == []


def test_id_used_in_another_queue_gets_the_queue_name(
    hr: Client, ring: Queue, queue: Queue
) -> None:
    queue.put("x", id="a")
    push(hr, "round", "a", "a")

    assert ids(ring.pop("w", count=9)) == ["a@round"]

    push(hr, "round", "a")
    assert ring.pop("w") == []
    assert ids(queue.pop("w")) == ["a"]
    assert hr.audit().problems == []


def test_pushed_id_too_long_with_its_queue_name_gets_a_generated_id(
    hr: Client, ring: Queue, queue: Queue
) -> None:
    queue.put("x", id="a" * 250)
    push(hr, "round", "a" * 250)

    [lease] = ring.pop("w", count=9)

    assert lease.id.startswith("ingress-")


def test_many_pushed_known_ids_do_not_hide_a_new_id(hr: Client, ring: Queue) -> None:
    ring.put("x", id="a")
    ring.pop("w")
    push(hr, "round", *["a"] * 700, "b")

    assert ids(ring.pop("w")) == ["b"]


def names_a_job(element: bytes) -> bool:
    try:
        return bool(text("id", element.decode(), 250))
    except (UnicodeDecodeError, InvalidArgument):
        return False


@pytest.fixture(scope="module")
def spinning(valkey_url: str) -> Iterator[Client]:
    hr, _ = open_with_clock(valkey_url, codec="raw")
    with hr:
        hr.queue("round").configure("ring")
        yield hr


@settings(max_examples=400, deadline=None)
@given(
    element=st.binary(max_size=6)
    | st.text(max_size=120).map(str.encode)
    | st.lists(st.integers(0x7F, 0xFF), max_size=5).map(bytes)
)
@example(element=b"")
@example(element=b"x" * 250)
@example(element=b"x" * 251)
@example(element=b"a\0b")
@example(element=b"a\x7fb")
@example(element="\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff".encode())
@example(element=b"\xc1\xbf")
@example(element=b"\xe0\x9f\xbf")
@example(element=b"\xed\xa0\x80")
@example(element=b"\xf0\x8f\xbf\xbf")
@example(element=b"\xf4\x90\x80\x80")
@example(element=b"\xf5\x80\x80\x80")
@example(element=b"\xc3a\xa9")
def test_payload_that_cannot_be_an_id_gets_a_generated_one(
    spinning: Client, element: bytes
) -> None:
    push(spinning, "round", element)

    lease = pop_one(spinning.queue("round"))

    assert lease.payload == element
    assert (lease.id.encode() == element) == names_a_job(element)
    spinning.finish(lease.id)


def test_pushed_payload_is_never_an_id_on_several_shards(url: str) -> None:
    hr, _ = open_with_clock(url, shards=3)
    with hr:
        hr.queue("round").configure("ring")
        for shard in range(3):
            push(hr, "round", "1", "1", shard=shard)

        leases = hr.queue("round").pop("w", count=9)

        assert [lease.data for lease in leases] == [1] * 6
        assert len({lease.id for lease in leases}) == 6
        assert {hr.core.shard_of(lease.id) for lease in leases} == {0, 1, 2}
        assert hr.leases.complete(leases) == ["complete"] * 6


@given(shards=st.integers(1, 1024), data=st.data())
def test_generated_ingress_ids_are_on_the_shard_of_their_list(
    shards: int, data: st.DataObject
) -> None:
    shard = data.draw(st.integers(0, shards - 1))

    assert shard_of(ingress_ids(shard, shards) + "17", shards) == shard


# failures


def test_ingress_key_that_is_not_a_list_is_not_changed(hr: Client, queue: Queue) -> None:
    hr.core.transport.send([(0, ("SET", where(hr, "mail"), "no list"))])
    queue.put("x", id="a")

    assert ids(queue.peek()) == ["a"]
    assert ids(queue.pop("w")) == ["a"]
    hr.sweep()
    assert hr.core.transport.send([(0, ("GET", where(hr, "mail")))]) == [b"no list"]


def test_shard_without_an_id_prefix_waits_for_it(hr: Client, queue: Queue, url: str) -> None:
    hr.core.transport.send([(0, ("HDEL", hr.core.key(0, "meta"), "ingress"))])
    push(hr, "mail", "1")
    assert queue.pop("w") == []

    headrace.connect(url, namespace=hr.core.namespace).close()

    assert pop_one(queue).data == 1


def test_refused_pop_does_not_drain_the_ingress_list(hr: Client, queue: Queue) -> None:
    queue.configure("task")
    push(hr, "mail", "1")
    before = dump(hr)

    with pytest.raises(SessionRequired):
        queue.pop("w")

    assert dump(hr) == before


def test_paused_queue_drains_its_ingress_list_and_delivers_no_job(hr: Client, queue: Queue) -> None:
    queue.pause()
    push(hr, "mail", "1")

    assert queue.pop("w") == []

    assert queue.counts().waiting == 1


def test_deleting_a_queue_deletes_its_list(hr: Client, queue: Queue) -> None:
    queue.put("x")
    push(hr, "mail", "1")
    queue.delete()
    assert not [key for key in dump(hr) if "mail" in key]
    push(hr, "mail", "1")

    queue.delete()

    assert not [key for key in dump(hr) if "mail" in key]
    with pytest.raises(QueueNotFound):
        queue.delete()


def test_full_server_still_hands_out_pushed_payloads() -> None:
    with servers.valkey() as url, headrace.connect(url) as hr:
        push(hr, "mail", *["1"] * 300)
        hr.core.transport.send([(0, ("CONFIG", "SET", "maxmemory", "1mb"))])

        leases = hr.queue("mail").pop("w", count=300)

        assert len(leases) + len(hr.queue("mail").pop("w", count=300)) == 300
        assert hr.audit().balanced
