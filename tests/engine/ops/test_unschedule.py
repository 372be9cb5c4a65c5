"""unschedule: ends a schedule; its jobs stay."""

from __future__ import annotations

from headrace import Client, Queue
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import drain, ids


@proves("QL-12")
def test_a_schedule_that_is_ended_makes_no_more_jobs(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.schedule("tick", "x", every=60)
    queue.schedule("tock", "x", cron="* * * * *")
    assert ids(queue.peek(9)) == ["tick-1"]

    assert hr.schedules.delete("tick", "none", "tock") == ["tick", "tock"]

    assert hr.schedules.list() == hr.schedules.list("mail") == []
    clock.tick(1000)
    hr.sweep()
    assert drain(queue) == ["tick-1"]
    assert not [key for key in dump(hr) if "schedule" in key]


def test_unknown_schedule_is_no_error_and_changes_nothing(hr: Client, queue: Queue) -> None:
    queue.schedule("tick", "x", every=60)
    before = dump(hr)

    assert hr.schedules.delete("none") == []
    assert hr.schedules.delete() == []

    assert dump(hr) == before


def test_recreated_schedule_skips_the_ids_of_its_jobs(
    hr: Client, queue: Queue, clock: Clock
) -> None:
    queue.schedule("tick", "x", every=60, backlog=2)
    clock.tick(120)
    assert drain(queue) == ["tick-1", "tick-2", "tick-3"]
    hr.schedules.delete("tick")
    hr.finish("tick-2")

    made = queue.schedule("tick", "x", every=60)

    assert (made.made, made.counter) == (0, 0)
    assert ids(queue.peek(9)) == ["tick-4"]
    now = hr.schedules.get("tick")
    assert now is not None
    assert (now.made, now.counter) == (1, 4)
