"""Short walks through what schedules do, compared with the model at every step."""

from __future__ import annotations

from collections.abc import Callable

from tests.model.harness import Check, Swaps, named
from tests.model.schedules.model import Rule
from tests.model.schedules.twin import ScheduleTwin
from tests.support.channels import listening
from tests.support.jobs import ids

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR

BERLIN = "Europe/Berlin"


def by_the_clock(twin: ScheduleTwin) -> None:
    twin.schedule("a", Rule(every=HOUR))
    twin.schedule("b", Rule(every=HOUR), queue="post", delay=90 * MINUTE)
    twin.pop()
    for ms in (HOUR - 1, 1, 150 * MINUTE, 30 * MINUTE):
        twin.tick(ms)
        twin.pop()
        twin.pop("post")
    twin.tick(HOUR)
    twin.peek()
    twin.tick(HOUR)
    twin.sweep()


def what_was_missed(twin: ScheduleTwin) -> None:
    twin.schedule("a", Rule(every=MINUTE), backlog=2)
    twin.schedule("b", Rule(every=MINUTE), backlog=None)
    twin.schedule("c", Rule(cron="* * * * *"), backlog=104)
    twin.tick(MINUTE)
    twin.pop()
    twin.tick(110 * MINUTE)
    twin.pop()
    twin.reschedule("c", Rule(cron="*/2 * * * *"), backlog=None)
    twin.tick(231 * MINUTE - 1)
    twin.sweep()
    twin.tick(-30 * MINUTE)
    twin.pop()
    twin.tick(31 * MINUTE)
    twin.pop()


def what_is_taken(twin: ScheduleTwin) -> None:
    twin.schedule("a", Rule(every=MINUTE), backlog=None)
    for number in (*range(2, 110), 115):
        twin.take_an_id("a", number)
    twin.tick(3 * MINUTE)
    twin.pop()
    twin.tick(20 * MINUTE)
    twin.pop()


def when_clocks_are_changed(twin: ScheduleTwin) -> None:
    twin.schedule("a", Rule(cron="30 2 * * *", zone=BERLIN), backlog=5)
    twin.schedule("b", Rule(cron="*/30 1-3 * * *", zone=BERLIN), backlog=None)
    twin.schedule("c", Rule(cron="15,45 * 1,29 * sun", zone=BERLIN), backlog=4)
    for ms in (13 * HOUR, 30 * MINUTE, HOUR, 2 * DAY):
        twin.tick(ms)
        twin.pop()


def what_is_changed(twin: ScheduleTwin) -> None:
    twin.schedule("a", Rule(every=HOUR), delay=HOUR)
    twin.reschedule("a", Rule(every=2 * HOUR))
    twin.tick(HOUR)
    twin.pop()
    twin.reschedule("a", Rule(every=30 * MINUTE), backlog=1)
    twin.schedule("a", Rule(every=30 * MINUTE), queue="post")
    twin.tick(40 * MINUTE)
    twin.pop("post")
    twin.schedule("a", Rule(every=30 * MINUTE), queue="post", delay=5 * MINUTE)
    twin.schedule("a", Rule(cron="0 * * * *"), delay=90 * MINUTE)
    twin.reschedule("a", Rule(cron="0 * * * *", zone="Asia/Kathmandu"))
    twin.reschedule("a", None, backlog=3)
    twin.tick(5 * HOUR)
    twin.schedule("a", Rule(cron="0 * * * *", zone="Asia/Kathmandu"), backlog=9)
    twin.sweep()
    twin.unschedule("a")
    twin.unschedule("a")
    twin.reschedule("a", None)
    twin.schedule("a", Rule(every=HOUR))
    twin.pop()


def although_answers_get_lost(twin: ScheduleTwin) -> None:
    twin.schedule("a", Rule(every=HOUR), delay=MINUTE, lost=True)
    twin.tick(MINUTE)
    twin.pop(lost=True)
    twin.reschedule("a", Rule(every=MINUTE), lost=True)
    twin.tick(HOUR)
    twin.sweep(lost=True)
    before = twin.hr.schedules.get("a")
    twin.connection.on = True
    with listening(twin.hr, twin.url, "queue:mail") as workers:
        made = twin.hr.queue("mail").schedule("a", "x", every=5, delay=5)
        assert workers.messages() == ["scheduled"]
    assert before is not None
    assert before.next != made.next
    assert twin.hr.schedules.delete("a") == ["a"]
    twin.connection.on = False
    twin.model.plans.clear()
    twin.check()
    assert twin.left() == set()


def what_its_jobs_are_like(twin: ScheduleTwin) -> None:
    queue = twin.hr.queue("mail")
    queue.schedule("a", "x", every=60, backlog=1, start_within=90, priority=3, tags=["t"])
    twin.tick(2 * MINUTE)
    [late, last] = queue.pop("w", count=5)
    assert [(lease.job.priority, lease.job.tags) for lease in (late, last)] == [(3, ["t"])] * 2
    twin.tick(5 * MINUTE)
    # The older of these two runs is a minute late, the other is due now.
    hr = twin.hr
    hr.leases.complete([late, last])
    assert ids(queue.peek(9)) == ["a-3", "a-4"]
    twin.tick(30_000)
    [only] = queue.pop("w", count=5)
    assert only.id == "a-4"
    stats = queue.stats().wait
    assert (stats.count, stats.mean) == (3, (60 + 0 + 30) / 3)
    only.complete()
    assert hr.audit().problems == []


def one_at_a_time(twin: ScheduleTwin) -> None:
    queue = twin.hr.queue("mail")
    queue.schedule("a", "x", every=60, backlog=1, unique=True)
    for number in (1, 2):
        twin.tick(2 * MINUTE)
        [lease] = queue.pop("w", count=5, lease=600)
        assert lease.id == f"a-{number}"
        twin.tick(MINUTE)
        assert queue.pop("w", count=5) == []
        lease.complete()
        queue.schedule("a", "y", every=60, backlog=1, unique=True)
    found = twin.hr.schedules.get("a")
    assert found is not None
    assert (found.made, found.skipped, found.counter) == (2, 4, 2)
    assert twin.hr.audit().problems == []


def with_its_queue(twin: ScheduleTwin) -> None:
    for plan_id, queue in (("a", "mail"), ("b", "mail"), ("c", "post")):
        twin.schedule(plan_id, Rule(every=HOUR), queue=queue)
    twin.pop()
    twin.delete("mail")
    twin.tick(HOUR)
    twin.pop("post")
    assert [queue for queue in twin.hr.queues() if queue == "mail"] == []
    twin.delete("post")
    assert twin.left() == set()


WALKS: list[tuple[str, Callable[[ScheduleTwin], None]]] = [
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


def walk(start: str, steps: Callable[[ScheduleTwin], None]) -> Check:
    """Return a check that takes the steps from this time on, on a namespace of its own."""

    def run(url: str, swaps: Swaps) -> None:
        with ScheduleTwin(url, start, swaps) as twin:
            steps(twin)

    return named(f"{steps.__name__} from {start}", run)
