"""--delete-source: only what has come and is verified, and only if nobody has changed it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import Client, ImportRefused
from headrace.compat.importing.bringing import bring, planned
from headrace.compat.importing.verifying import delete_verified
from headrace.testing import START
from tests.compat.importing.old import Old, imported, nothing

YESTERDAY = START.date() - timedelta(days=1)
KEYS = "LPUSH worqr:queues:q a b c\nSADD worqr:workers w\nLPUSH worqr:queues:r x"
LATER = """
HSET ql:j:a jid a klass k state waiting queue q data {} priority 0 tags []
HSET ql:j:b jid b klass k state depends queue q data {} priority 0 tags []
ZADD ql:q:q-work 0 a
ZADD ql:q:q-depends 0 b
SADD ql:j:b-dependencies a
"""


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
