"""Properties of redis-queue that its document does not have, and deliberate differences."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import headrace
from headrace import Client, InvalidArgument
from headrace.compat.common import TextCodec
from headrace.compat.redis_queue import AsyncRedisQueue, RedisQueue
from headrace.testing import Clock, open_with_clock
from tests.compat.redis_queue.support.pushing import push
from tests.proof import proves
from tests.support.channels import commands, meanwhile, until_listened_to
from tests.support.dump import dump


def popped(rq: Any, qkey: str = "q") -> list[str]:
    """Pop until the queue is empty and return the ids."""
    ids = []
    while (found := rq.safe_pop(qkey)) is not None:
        ids.append(found)
    return ids


@proves("R-08", "RD-08")
def test_server_clock_and_the_timeout_of_the_popper_decide_what_is_late(
    hr: Client, rq: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    rq.tasktimeout = 2
    push(hr, rq, "q", "a")
    rq.safe_pop("q")
    actual = time.time
    monkeypatch.setattr(time, "time", lambda: actual() + 3600)

    clock.tick(1.999)
    assert rq.safe_pop("q") is None
    clock.tick(0.001)
    assert rq.safe_pop("q") == "a"


@proves("R-09")
def test_pop_waits_up_to_the_pop_timeout(hr: Client) -> None:
    rq = RedisQueue(hr, poptimeout=0.1)
    began = time.monotonic()
    assert rq.safe_pop("q") is None
    assert time.monotonic() - began >= 0.1
    assert (RedisQueue(hr).poptimeout, RedisQueue(hr).tasktimeout) == (30, 30)

    with meanwhile(lambda: RedisQueue(hr).safe_pop_msg("q")) as waiting:
        until_listened_to(hr, "queue:q", listeners=2)
        pushed = rq.push_msg("q", "x")

    assert waiting.result() == (pushed, "x")


@proves("R-10")
def test_ids_are_popped_in_push_order_after_late_ones(hr: Client, rq: Any, clock: Clock) -> None:
    push(hr, rq, "q", "a", "b")
    assert rq.safe_pop("q") == "a"
    clock.tick(30)
    push(hr, rq, "q", "c")

    assert popped(rq) == ["a", "b", "c"]


@proves("R-11", "RD-03")
def test_mark_done_does_not_affect_a_later_push_of_the_id(
    hr: Client, rq: Any, clock: Clock
) -> None:
    push(hr, rq, "q", "a")
    rq.safe_pop("q")
    rq.mark_done("q", "a")
    rq.mark_done("q", "a")

    push(hr, rq, "q", "a")

    for _ in range(3):
        assert popped(rq) == ["a"]
        clock.tick(30)


@proves("R-11")
def test_mark_done_ignores_an_id_that_was_not_popped(hr: Client, rq: Any) -> None:
    waiting = rq.push_msg("q", "x")
    before = dump(hr)

    rq.mark_done("q", waiting)

    assert dump(hr) == before
    assert popped(rq) == [waiting]


@proves("R-12")
def test_any_client_may_mark_done_and_repeat_it(hr: Client, rq: Any, clock: Clock) -> None:
    push(hr, rq, "q", "a")
    rq.safe_pop("q")
    clock.tick(30)
    rq.safe_pop("q")

    RedisQueue(hr).mark_done("q", "a")

    before = dump(hr)
    rq.mark_done("q", "a")
    rq.mark_done("q", "nobody knows it")
    assert dump(hr) == before
    clock.tick(30)
    assert popped(rq) == []


def test_mark_done_does_not_affect_another_queue(hr: Client, rq: Any) -> None:
    push(hr, rq, "q", "a")
    rq.safe_pop("q")
    before = dump(hr)

    rq.mark_done("other", "a")

    assert dump(hr) == before


@proves("R-14")
def test_consumers_of_both_apis_share_a_queue(hr: Client, rq: Any) -> None:
    push(hr, rq, "q", "a", "b")
    ring = hr.queue("q")
    assert rq.safe_pop("q") == "a"
    [lease] = ring.pop("in our own words")
    assert (lease.id, lease.payload) == ("b", b"b")
    for tid in ("a", "b"):
        RedisQueue(hr).mark_done("q", tid)

    assert ring.length() == 0
    assert hr.queues()["q"].running == 0
    assert hr.audit().balanced


@proves("R-15", "RD-06", "RD-07")
def test_mark_done_removes_the_id_and_leaves_no_key(hr: Client, rq: Any) -> None:
    rq.safe_pop("q")
    ends = ("events", "log", "agenda", "books:q")
    empty = {key for key in dump(hr) if not key.endswith(ends)}
    push(hr, rq, "q", *(f"{number}" for number in range(20)))
    every = popped(rq)
    assert hr.queue("q").length() == 20

    for tid in every:
        rq.mark_done("q", tid)

    assert {key for key in dump(hr) if not key.endswith(ends)} == empty
    assert hr.queue("q").length() == 0


@proves("R-17", "RD-01")
def test_each_call_changes_the_queue_in_one_step(hr: Client, url: str) -> None:
    rq = RedisQueue(hr, poptimeout=0)

    def sent() -> list[list[str]]:
        push(hr, rq, "q", "a")
        found = []
        calls: list[Callable[[], object]] = [
            lambda: rq.safe_pop("q"),
            lambda: rq.mark_done("q", "a"),
        ]
        for call in calls:
            with commands(url) as lines:
                call()
            found.append([line.split()[1] for line in lines])
        return found

    sent()
    scripts = {op: hr.core.library.operations[op].name for op in ("pop", "get", "complete")}

    assert sent() == [
        [hr.core.key(0, "settings:q"), scripts["pop"]],
        [scripts["get"], scripts["complete"]],
    ]


@proves("RD-02")
def test_running_id_does_not_block_the_next_one(hr: Client, rq: Any) -> None:
    push(hr, rq, "q", "a", "b")
    rq.safe_pop("q")

    assert rq.safe_pop("q") == "b"


@proves("RD-04")
def test_id_pushed_twice_is_one_message(hr: Client, rq: Any) -> None:
    push(hr, rq, "q", "a", "a")
    assert popped(rq) == ["a"]
    push(hr, rq, "q", "a")
    assert popped(rq) == []

    rq.mark_done("q", "a")

    assert popped(rq) == []
    push(hr, rq, "q", "a")
    assert popped(rq) == ["a"]


def test_same_id_in_two_queues_is_independent(hr: Client, rq: Any) -> None:
    for qkey in ("mail", "pictures", "mail", "pictures"):
        push(hr, rq, qkey, "123")

    assert rq.safe_pop("mail") == "123"
    assert rq.safe_pop_msg("pictures") == ("123", "123")
    assert [rq.safe_pop(qkey) for qkey in ("mail", "pictures")] == [None, None]

    rq.mark_done("pictures", "123")

    assert [hr.queue(qkey).length() for qkey in ("mail", "pictures")] == [1, 0]
    rq.mark_done("mail", "123")
    assert hr.queue("mail").length() == 0
    assert hr.audit().balanced


@proves("RD-05")
@pytest.mark.parametrize("tid", ["a|b", "123|1417696237", "|", "q:done", "{a}", "ä ö%s"])
def test_id_may_have_any_printable_character(hr: Client, clock: Clock, tid: str) -> None:
    rq = RedisQueue(hr, poptimeout=0)
    push(hr, rq, "q", tid)

    assert rq.safe_pop("q") == tid
    assert rq.safe_pop("q") is None
    clock.tick(30)
    assert rq.safe_pop("q") == tid
    rq.mark_done("q", tid)
    assert hr.queue("q").length() == 0


@proves("RD-09")
def test_lease_of_the_headrace_api_can_be_renewed(hr: Client, rq: Any, clock: Clock) -> None:
    rq.push_msg("q", b"1")
    [lease] = hr.queue("q").pop("slow")

    for _ in range(4):
        clock.tick(29)
        lease.heartbeat()
        assert rq.safe_pop("q") is None

    rq.mark_done("q", lease.id)
    assert hr.queue("q").length() == 0


# Messages.


@proves("RL-01")
def test_message_is_pushed_under_a_new_id_and_popped_with_it(hr: Client, rq: Any) -> None:
    first = rq.push_msg("q", "hello")
    second = rq.push_msg("q", b"\0\xff")

    assert rq.safe_pop_msg("q") == (first, "hello")
    tid, message = rq.safe_pop_msg("q")
    assert (tid, message.encode(errors="surrogateescape")) == (second, b"\0\xff")
    assert rq.safe_pop_msg("q") is None
    rq.mark_done("q", first)
    assert hr.job(first) is None
    assert hr.audit().balanced


@proves("RL-01")
def test_expired_message_is_not_returned(hr: Client, rq: Any, clock: Clock) -> None:
    old = rq.push_msg("q", "old")
    clock.tick(86_399)
    assert rq.safe_pop("q") == old
    rq.mark_done("q", old)
    begun = rq.push_msg("q", "begun in time")
    rq.safe_pop("q")
    rq.push_msg("q", "too old")
    clock.tick(86_401)
    fresh = rq.push_msg("q", "fresh")

    assert popped(rq) == [begun, fresh]
    assert hr.audit().balanced


@proves("RL-01")
def test_id_without_a_message_is_its_own_message(hr: Client, rq: Any) -> None:
    push(hr, rq, "q", "a")

    assert rq.safe_pop_msg("q") == ("a", "a")


@proves("RL-01")
@pytest.mark.parametrize("codec", ["json", "msgpack"])
@pytest.mark.parametrize("tid", ["hello", "123", "ä"])
def test_id_without_a_message_ignores_the_codec(url: str, codec: str, tid: str) -> None:
    hr, _ = open_with_clock(url, codec=codec)
    with hr:
        rq = RedisQueue(hr, poptimeout=0)
        push(hr, rq, "q", tid)

        assert rq.safe_pop_msg("q") == (tid, tid)


# Opening.


def test_url_opens_a_client(valkey_url: str) -> None:
    with RedisQueue(valkey_url, poptimeout=0) as rq:
        tid = rq.push_msg("letters", "hello")
        assert rq.safe_pop_msg("letters") == (tid, "hello")
        with headrace.connect(valkey_url, codec="raw") as hr:
            assert [job.data for job in hr.queue("letters").jobs("running").jobs] == [b"hello"]
            hr.queue("letters").delete()


def test_passed_client_stays_open(rq: Any) -> None:
    rq.close()

    assert rq.safe_pop("q") is None


@pytest.mark.parametrize("kind", [RedisQueue, AsyncRedisQueue])
def test_invalid_options_are_refused(hr: Client, kind: Any) -> None:
    for client in (None, 7, hr if kind is AsyncRedisQueue else b"redis://"):
        with pytest.raises(InvalidArgument, match="or a URL"):
            kind(client)
    for wrong in (-1, "30", float("nan")):
        for name in ("poptimeout", "tasktimeout", "exptime"):
            with pytest.raises(InvalidArgument, match=name):
                kind(hr, **{name: wrong})


def test_invalid_name_or_message_changes_nothing(hr: Client, rq: Any) -> None:
    before = dump(hr)

    wrong: list[Callable[[], object]] = [
        lambda: rq.safe_pop(""),
        lambda: rq.mark_done("q", ""),
        lambda: rq.mark_done("", "a"),
        lambda: rq.push_msg(7, "x"),
        lambda: rq.ingress("\n"),
    ]
    for call in wrong:
        with pytest.raises(InvalidArgument):
            call()

    assert dump(hr) == before
    with pytest.raises(InvalidArgument, match="str or bytes, not dict"):
        rq.push_msg("q", {})
    with pytest.raises(InvalidArgument, match="valid Unicode"):
        rq.push_msg("q", "\ud800")


def test_configured_queue_keeps_its_settings(hr: Client, rq: Any) -> None:
    hr.queue("mine").configure("ring", concurrency=1)
    hr.queue("paused").pause()
    before = hr.queue("mine").settings()

    rq.push_msg("mine", "x")
    assert rq.safe_pop("paused") is None

    assert hr.queue("mine").settings() == before
    assert hr.queue("paused").settings()["ingress"] == "id"
    assert hr.queue("paused").settings()["paused"] is True


def test_pushed_message_gets_a_new_id_on_several_shards(url: str) -> None:
    hr, clock = open_with_clock(url, shards=3, codec=TextCodec())
    with hr:
        rq = RedisQueue(hr, poptimeout=0)
        push(hr, rq, "q", "a")
        pushed = [rq.push_msg("q", f"{number}") for number in range(9)]
        first = {found[1]: found[0] for _ in range(10) if (found := rq.safe_pop_msg("q"))}
        clock.tick(30)
        for tid in first.values():
            rq.mark_done("q", tid)

        assert set(first) == {"a", *map(str, range(9))}
        assert set(pushed) < set(first.values())
        assert rq.safe_pop("q") is None
        assert hr.audit().balanced


@proves("RD-03", "RD-04")
def test_id_in_progress_in_one_queue_survives_the_end_of_its_twin_in_another_queue(
    hr: Client, rq: Any, clock: Clock
) -> None:
    for qkey in ("p", "q"):
        push(hr, rq, qkey, "a")
        assert popped(rq, qkey) == ["a"]
    rq.mark_done("p", "a")

    push(hr, rq, "q", "a")

    assert popped(rq, "q") == []
    clock.tick(30)
    assert popped(rq, "q") == ["a"]
    rq.mark_done("q", "a")
    clock.tick(30)
    assert popped(rq, "q") == []
    push(hr, rq, "q", "a")
    assert popped(rq, "q") == ["a"]
