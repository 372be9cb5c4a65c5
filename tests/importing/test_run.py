"""An import as a whole: a source that changes, one that is read twice, one that is deleted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import Client, ImportRefused
from headrace.importing.bringing import bring, planned
from headrace.importing.verifying import delete_verified, verify
from headrace.testing import START, Clock, open_with_clock
from tests.engine.shortcuts import pop_one
from tests.importing.old import Old, imported, line_of, nothing

YESTERDAY = START.date() - timedelta(days=1)
KEYS = "LPUSH worqr:queues:q a b c\nSADD worqr:workers w\nLPUSH worqr:queues:r x"
LATER = """
HSET ql:j:a jid a klass k state waiting queue q data {} priority 0 tags []
HSET ql:j:b jid b klass k state depends queue q data {} priority 0 tags []
ZADD ql:q:q-work 0 a
ZADD ql:q:q-depends 0 b
SADD ql:j:b-dependencies a
"""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("LPUSH worqr:queues:q d", "'q': 3 waiting, then 4"),
        ("RPOP worqr:queues:q", "'q': 3 waiting, then 2"),
        ("LSET worqr:queues:q 1 other", "'q': 3 waiting, then as many others"),
        ("DEL worqr:queues:r", "'r': 1 waiting, then 0"),
    ],
)
def test_a_source_that_changes_is_told_and_the_rest_comes_later(
    hr: Client, old: Old, change: str, words: str
) -> None:
    old.lay(KEYS)
    place = old.place("worqr")
    plan = planned(place, nothing)
    old.lay(change)

    with pytest.raises(ImportRefused, match=words):
        bring(hr, place, plan, nothing)

    assert imported(hr, old, "worqr").verified.moved_on == 0


def test_a_source_that_changes_after_it_was_read_is_told(hr: Client, old: Old) -> None:
    old.lay(KEYS)
    place = old.place("worqr")
    plan = planned(place, nothing)
    bring(hr, place, plan, nothing)
    old.lay("LPUSH worqr:queues:q d")

    with pytest.raises(ImportRefused, match="'q': 3 waiting, then 4"):
        verify(hr, place, plan, nothing)


def test_what_is_done_here_meanwhile_does_not_come_again(hr: Client, old: Old) -> None:
    old.lay("LPUSH q 1|1417696237 2|1417696238")
    imported(hr, old, "redis-queue")
    pop_one(hr.queue("q"))
    hr.finish("1")
    pop_one(hr.queue("q"))

    again = imported(hr, old, "redis-queue")

    assert (again.brought.made, again.brought.known) == (0, 2)
    assert (again.verified.moved_on, hr.job("1")) == (2, None)


def test_what_is_not_as_it_was_is_named(hr: Client, old: Old) -> None:
    old.lay("LPUSH q 1|1417696237 2|1417696238 3|1417696239")
    imported(hr, old, "redis-queue")
    hr.prioritise("2", 5)
    hr.tag("3", "vip")
    place = old.place("redis-queue")

    found = verify(hr, place, planned(place, nothing), nothing)

    assert found.faults == [
        "job '2' of 'q' has another priority here",
        "job '3' of 'q' has another tags here",
    ]


def test_what_got_lost_here_is_named_and_brought(hr: Client, old: Old) -> None:
    old.lay(KEYS)
    place = old.place("worqr")
    plan = planned(place, nothing)
    hr.queue("q").configure("task")

    found = verify(hr, place, plan, nothing)

    assert len(found.faults) == 4
    assert found.faults[0].endswith("of 'q' was missing, and has been brought now")
    assert verify(hr, place, plan, nothing).faults == []
    assert line_of(hr.queue("q")) == [b"a", b"b", b"c"]


def test_nothing_is_deleted_that_has_changed_since(hr: Client, old: Old) -> None:
    old.lay(KEYS)
    place = old.place("worqr")
    plan = planned(place, nothing)
    bring(hr, place, plan, nothing)
    looked_at = 0

    def interfere(more: int) -> None:
        nonlocal looked_at
        looked_at += more
        if looked_at == plan.tally.total:
            old.lay("LPUSH worqr:queues:q late")

    before = set(old.dump())
    with pytest.raises(ImportRefused, match="has changed since it was verified"):
        delete_verified(hr, place, plan, interfere)

    assert set(old.dump()) == before


def test_nothing_is_deleted_that_is_not_here_as_it_was(hr: Client, old: Old) -> None:
    old.lay("LPUSH q 1|1417696237 2")
    imported(hr, old, "redis-queue")
    hr.prioritise("1", 5)
    place = old.place("redis-queue")
    before = old.dump()

    assert delete_verified(hr, place, planned(place, nothing), nothing).faults
    assert old.dump() == before


def test_of_qless_what_was_not_brought_stays(hr: Client, old: Old) -> None:
    old.lay(LATER)
    old.lay("HSET ql:r:each jid each interval 5\nZADD ql:q:q-recur 1 each")
    old.lay("HSET ql:j:odd state who\nSET x y")

    assert left_after_deletion(hr, old, "qless") == {"ql:j:odd", "x"}


def left_after_deletion(hr: Client, old: Old, system: str) -> set[str]:
    place = old.place(system)
    plan = planned(place, nothing)
    bring(hr, place, plan, nothing)
    assert delete_verified(hr, place, plan, nothing).faults == []
    return {key.decode() for key in old.dump()}


@pytest.mark.parametrize(
    ("keys", "staying"),
    [
        ("HSET ql:s:2026-01-01:q:vip total 1 mean 1 vk 0 s1 1", "ql:s:2026-01-01:q:vip"),
        ("HSET ql:s:wait:86400:q total many mean 1", "ql:s:wait:86400:q"),
        ("SET ql:s:nothing x", "ql:s:nothing"),
        ("HSET ql:config grace-period 10", "ql:config"),
        ("ZADD ql:tracked 1 a 2 gone", "ql:tracked"),
        ("HSET ql:j:lost state depends queue q data 1\nRPUSH ql:j:lost-history x", "ql:j:lost*"),
        ("HSET ql:j:a tags {}x", "ql:j:a*"),
        ("HSET ql:r:none data 1\nZADD ql:q:q-recur 1 none", "ql:r:none ql:q:q-recur"),
        ("HSET ql:r:unlisted interval 5", "ql:r:unlisted"),
        ("SET ql:j:text x", "ql:j:text"),
        ("HSET ql:th:gpu maximum 3", "ql:th:gpu"),
    ],
)
def test_of_qless_nothing_is_deleted_that_was_left_out(
    hr: Client, old: Old, keys: str, staying: str
) -> None:
    old.lay(LATER)
    old.lay("RPUSH ql:j:a-history x\nHSET ql:config heartbeat 60\nZADD ql:tracked 1 a")
    old.lay(keys)
    expected = staying.removesuffix("*").split()
    if staying.endswith("*"):
        expected.append(f"{expected[0]}-history")

    assert left_after_deletion(hr, old, "qless") == set(expected)


def test_of_thoonk_nothing_is_deleted_that_was_left_out(hr: Client, old: Old) -> None:
    old.lay("""
        SADD feeds line work
        SET feed.config:line '{"type": "queue"}'
        HSET feed.items:line taken x
        SET feed.config:work 'no json'
        LPUSH feed.ids:work 1
        HSET feed.items:work 1 x
        SET feed.cancelled:work 3
    """)

    left = left_after_deletion(hr, old, "thoonk")

    assert left == {"feed.items:line", "feed.config:work", "feed.cancelled:work"}


def test_of_redis_queue_only_messages_that_were_brought_are_deleted(hr: Client, old: Old) -> None:
    old.lay("LPUSH q 1 2|1417696237\nSADD q:done 2\nSET q:data:1 one\nSET q:data:2 two")
    old.lay("SET q:data:9 nine\nLPUSH q:data:list x")

    assert left_after_deletion(hr, old, "redis-queue") == {"q:data:9", "q:data:list"}


def test_on_several_shards_all_of_it_comes_but_dependencies(url: str, old: Old) -> None:
    hr, _ = open_with_clock(url, shards=3)
    with hr:
        old.lay("LPUSH q " + " ".join(f"{number}|14176962{number:02}" for number in range(30)))
        assert imported(hr, old, "redis-queue").brought.made == 30
        assert hr.queue("q").counts().waiting == 30

        old.lay(LATER)
        with pytest.raises(ImportRefused, match="import into a namespace that has one"):
            imported(hr, old, "qless")


DAYS = """
HSET ql:j:a state waiting queue q data 1
ZADD ql:q:q-work 0 a
HSET ql:s:wait:{day}:q total 5 mean 0.1234565 vk 8 s0 3 s5 2
HSET ql:s:stats:{day}:q failures 4 retries 3
"""


@pytest.mark.parametrize(
    ("key", "field", "value"),
    [
        ("stats", "wait:count", "4"),
        ("stats", "wait:mean", "1"),
        ("stats", "wait:vk", "1"),
        ("stats", "failures", "3"),
        ("stats", "retries", "0"),
        ("histogram", "wait:s0", "2"),
    ],
)
def test_statistics_are_read_back(hr: Client, old: Old, key: str, field: str, value: str) -> None:
    day = int(START.timestamp()) // 86_400 - 1
    old.lay(DAYS.format(day=day * 86_400))
    imported(hr, old, "qless")
    place = old.place("qless")
    stored = hr.core.key(0, f"{key}:{day}:q")
    hr.core.wire.send([(0, ("HSET", stored, field, value))])

    found = verify(hr, place, planned(place, nothing), nothing)

    assert found.faults == [f"the statistics of 'q' of {YESTERDAY} are others here"]


def test_statistics_may_be_more_here_or_forgotten(hr: Client, clock: Clock, old: Old) -> None:
    day = int(START.timestamp()) // 86_400
    old.lay(DAYS.format(day=day * 86_400))
    imported(hr, old, "qless")
    pop_one(hr.queue("q")).complete()
    assert hr.queue("q").stats().wait.count == 6

    assert imported(hr, old, "qless").verified.moved_on == 1
    clock.tick(10 * 86_400)
    hr.sweep()
    assert imported(hr, old, "qless").verified.moved_on == 1
    clock.tick(30 * 86_400)
    hr.sweep()
    assert imported(hr, old, "qless").verified.moved_on >= 1


TURNS = 'HSET ql:r:each interval 60 data 1 tags ["x"] retries 3\nZADD ql:q:q-recur {due} each'


def test_a_schedule_that_was_ended_does_not_come_again(hr: Client, clock: Clock, old: Old) -> None:
    old.lay(TURNS.format(due=int(START.timestamp()) + 30))
    assert imported(hr, old, "qless").brought.made == 1
    assert imported(hr, old, "qless").brought.known == 1
    clock.tick(200)
    hr.sweep()
    assert imported(hr, old, "qless").verified.moved_on == 0
    hr.unschedule("each")

    again = imported(hr, old, "qless")

    assert (again.brought.made, again.verified.moved_on) == (0, 1)
    assert hr.schedule("each") is None


def test_schedules_are_read_back(hr: Client, old: Old) -> None:
    old.lay(TURNS.format(due=1))
    imported(hr, old, "qless")
    hr.reschedule("each", every=61)
    place = old.place("qless")

    found = verify(hr, place, planned(place, nothing), nothing)

    assert found.faults == ["schedule 'each' of 'q' has another interval here"]


def test_a_schedule_of_somebody_else_stays_and_is_named(hr: Client, old: Old) -> None:
    old.lay(TURNS.format(due=1))
    hr.queue("mine").schedule("each", 7, every=60)
    place = old.place("qless")
    plan = planned(place, nothing)
    before = old.dump()

    assert bring(hr, place, plan, nothing).made == 0
    found = delete_verified(hr, place, plan, nothing)

    assert found.faults == ["schedule 'each' of 'q' has another queue here"]
    assert hr.schedule("each").queue == "mine"  # type: ignore[union-attr]
    assert old.dump() == before
