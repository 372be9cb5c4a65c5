"""Statistics and schedules: what came is compared with what is here, and comes once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace import Client
from headrace.compat.importing.bringing import bring, planned
from headrace.compat.importing.verifying import delete_verified, verify
from headrace.testing import START, Clock
from tests.compat.importing.old import Old, imported, nothing
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
    hr.core.transport.send([(0, ("HSET", stored, field, value))])

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
