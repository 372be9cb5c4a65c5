"""Short walks through what schedules do, compared with the model at every step."""

from __future__ import annotations

from collections.abc import Callable

from tests.engine.hearing import listening
from tests.engine.schedules.model import Rule
from tests.engine.schedules.pair import Pair
from tests.engine.shortcuts import ids

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR

BERLIN = "Europe/Berlin"


def by_the_clock(pair: Pair) -> None:
    pair.schedule("a", Rule(every=HOUR))
    pair.schedule("b", Rule(every=HOUR), queue="post", delay=90 * MINUTE)
    pair.pop()
    for ms in (HOUR - 1, 1, 150 * MINUTE, 30 * MINUTE):
        pair.tick(ms)
        pair.pop()
        pair.pop("post")
    pair.tick(HOUR)
    pair.peek()
    pair.tick(HOUR)
    pair.sweep()


def what_was_missed(pair: Pair) -> None:
    pair.schedule("a", Rule(every=MINUTE), backlog=2)
    pair.schedule("b", Rule(every=MINUTE), backlog=None)
    pair.schedule("c", Rule(cron="* * * * *"), backlog=104)
    pair.tick(MINUTE)
    pair.pop()
    pair.tick(110 * MINUTE)
    pair.pop()
    pair.reschedule("c", Rule(cron="*/2 * * * *"), backlog=None)
    pair.tick(231 * MINUTE - 1)
    pair.sweep()
    pair.tick(-30 * MINUTE)
    pair.pop()
    pair.tick(31 * MINUTE)
    pair.pop()


def what_is_taken(pair: Pair) -> None:
    pair.schedule("a", Rule(every=MINUTE), backlog=None)
    for number in (*range(2, 110), 115):
        pair.take_an_id("a", number)
    pair.tick(3 * MINUTE)
    pair.pop()
    pair.tick(20 * MINUTE)
    pair.pop()


def when_clocks_are_changed(pair: Pair) -> None:
    pair.schedule("a", Rule(cron="30 2 * * *", zone=BERLIN), backlog=5)
    pair.schedule("b", Rule(cron="*/30 1-3 * * *", zone=BERLIN), backlog=None)
    pair.schedule("c", Rule(cron="15,45 * 1,29 * sun", zone=BERLIN), backlog=4)
    for ms in (13 * HOUR, 30 * MINUTE, HOUR, 2 * DAY):
        pair.tick(ms)
        pair.pop()


def what_is_changed(pair: Pair) -> None:
    pair.schedule("a", Rule(every=HOUR), delay=HOUR)
    pair.reschedule("a", Rule(every=2 * HOUR))
    pair.tick(HOUR)
    pair.pop()
    pair.reschedule("a", Rule(every=30 * MINUTE), backlog=1)
    pair.schedule("a", Rule(every=30 * MINUTE), queue="post")
    pair.tick(40 * MINUTE)
    pair.pop("post")
    pair.schedule("a", Rule(every=30 * MINUTE), queue="post", delay=5 * MINUTE)
    pair.schedule("a", Rule(cron="0 * * * *"), delay=90 * MINUTE)
    pair.reschedule("a", Rule(cron="0 * * * *", zone="Asia/Kathmandu"))
    pair.reschedule("a", None, backlog=3)
    pair.tick(5 * HOUR)
    pair.schedule("a", Rule(cron="0 * * * *", zone="Asia/Kathmandu"), backlog=9)
    pair.sweep()
    pair.unschedule("a")
    pair.unschedule("a")
    pair.reschedule("a", None)
    pair.schedule("a", Rule(every=HOUR))
    pair.pop()


def although_answers_get_lost(pair: Pair) -> None:
    pair.schedule("a", Rule(every=HOUR), delay=MINUTE, lost=True)
    pair.tick(MINUTE)
    pair.pop(lost=True)
    pair.reschedule("a", Rule(every=MINUTE), lost=True)
    pair.tick(HOUR)
    pair.sweep(lost=True)
    before = pair.hr.schedules.get("a")
    pair.transport.on = True
    with listening(pair.hr, pair.url, "queue:mail") as workers:
        made = pair.hr.queue("mail").schedule("a", "x", every=5, delay=5)
        assert workers.messages() == ["scheduled"]
    assert before is not None
    assert before.next != made.next
    assert pair.hr.schedules.delete("a") == ["a"]
    pair.transport.on = False
    pair.model.plans.clear()
    pair.check()
    assert pair.left() == set()


def what_its_jobs_are_like(pair: Pair) -> None:
    queue = pair.hr.queue("mail")
    queue.schedule("a", "x", every=60, backlog=1, start_within=90, priority=3, tags=["t"])
    pair.tick(2 * MINUTE)
    [late, last] = queue.pop("w", count=5)
    assert [(lease.job.priority, lease.job.tags) for lease in (late, last)] == [(3, ["t"])] * 2
    pair.tick(5 * MINUTE)
    # Of these two turns the older is a minute old, the other has come now.
    hr = pair.hr
    hr.leases.complete([late, last])
    assert ids(queue.peek(9)) == ["a-3", "a-4"]
    pair.tick(30_000)
    [only] = queue.pop("w", count=5)
    assert only.id == "a-4"
    stats = queue.stats().wait
    assert (stats.count, stats.mean) == (3, (60 + 0 + 30) / 3)
    only.complete()
    assert hr.audit().problems == []


def one_at_a_time(pair: Pair) -> None:
    queue = pair.hr.queue("mail")
    queue.schedule("a", "x", every=60, backlog=1, unique=True)
    for number in (1, 2):
        pair.tick(2 * MINUTE)
        [lease] = queue.pop("w", count=5, lease=600)
        assert lease.id == f"a-{number}"
        pair.tick(MINUTE)
        assert queue.pop("w", count=5) == []
        lease.complete()
        queue.schedule("a", "y", every=60, backlog=1, unique=True)
    found = pair.hr.schedules.get("a")
    assert found is not None
    assert (found.made, found.skipped, found.counter) == (2, 4, 2)
    assert pair.hr.audit().problems == []


def with_its_queue(pair: Pair) -> None:
    for plan_id, queue in (("a", "mail"), ("b", "mail"), ("c", "post")):
        pair.schedule(plan_id, Rule(every=HOUR), queue=queue)
    pair.pop()
    pair.delete("mail")
    pair.tick(HOUR)
    pair.pop("post")
    assert [queue for queue in pair.hr.queues() if queue == "mail"] == []
    pair.delete("post")
    assert pair.left() == set()


WALKS: list[tuple[str, Callable[[Pair], None]]] = [
    ("2026-01-01T00:00", by_the_clock),
    ("2026-01-01T00:00:00.001", what_was_missed),
    ("2026-01-01T00:00", what_is_taken),
    ("2026-03-28T12:00", when_clocks_are_changed),
    ("2026-10-24T12:00", when_clocks_are_changed),
    ("2026-01-01T00:10", what_is_changed),
    ("2026-01-01T00:00", although_answers_get_lost),
    ("2026-01-01T00:00", what_its_jobs_are_like),
    ("2026-01-01T00:00", one_at_a_time),
    ("2026-01-01T00:00", with_its_queue),
]
