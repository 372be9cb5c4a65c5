"""An import as a whole: a source that changes, one that is read twice, one that is deleted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import Client, ImportRefused
from headrace.compat.importing.bringing import bring, planned
from headrace.compat.importing.verifying import verify
from headrace.testing import START, open_with_clock
from tests.compat.importing.old import Old, imported, line_of, nothing
from tests.engine.shortcuts import pop_one

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


def test_on_several_shards_all_of_it_comes_but_dependencies(url: str, old: Old) -> None:
    hr, _ = open_with_clock(url, shards=3)
    with hr:
        old.lay("LPUSH q " + " ".join(f"{number}|14176962{number:02}" for number in range(30)))
        assert imported(hr, old, "redis-queue").brought.made == 30
        assert hr.queue("q").counts().waiting == 30

        old.lay(LATER + "HSET ql:config heartbeat 90")
        with pytest.raises(ImportRefused, match="import into a namespace that has one"):
            imported(hr, old, "qless")
        assert (hr.job("a"), hr.config.get("lease")) == (None, 60)


@pytest.mark.parametrize(
    ("system", "keys", "named"),
    [
        ("qless", "SET ql:q:q-work x", "ql:q:q-work"),
        ("qless", "ZADD ql:q:q-work 1 a\nSET ql:j:a x", "ql:j:a"),
        ("worqr", "SET worqr:queues:q x", "worqr:queues:q"),
        ("thoonk", "SADD feeds f\nSET feed.items:f x", "feed.items:f"),
        ("redis-queue", "LPUSH q 1|1417696237\nHSET q:done a 1", "q:done"),
    ],
)
def test_a_key_that_holds_something_else_is_named(
    hr: Client, old: Old, system: str, keys: str, named: str
) -> None:
    old.lay(keys)

    with pytest.raises(ImportRefused, match=f"{named}.*WRONGTYPE"):
        imported(hr, old, system)
    assert hr.queues() == {}
