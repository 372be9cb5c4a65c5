"""Schedules are made, changed and ended once, even if the call is repeated."""

from __future__ import annotations

from typing import Any

from headrace import Client, Schedule
from headrace.testing import Clock
from tests.proof import proves
from tests.support.clients import got
from tests.support.proxy import Way
from tests.support.repeats import happened, mark


def known(calm: Client) -> Schedule:
    found = calm.schedules.get("tick")
    assert found is not None
    return found


@proves("QL-12")
async def test_a_schedule_is_made_once(
    hr: Any, calm: Client, way: Way, moment: str, clock: Clock
) -> None:
    way.lose(mark(calm, "schedule"), moment, meanwhile=lambda: clock.tick(5))

    made = await got(hr.queue("mail").schedule("tick", "x", every=60, delay=10))

    begun = 5 if moment == "before the request" else 0
    assert way.cuts == 1
    assert made == known(calm)
    assert (made.next - clock.now).total_seconds() == 10 + begun - 5


async def test_a_schedule_is_changed_once(
    hr: Any, calm: Client, way: Way, moment: str, clock: Clock
) -> None:
    calm.queue("mail").schedule("tick", "x", every=60)
    calm.queue("mail").pop("w")
    clock.tick(10)
    way.lose(mark(calm, "schedule"), moment)

    changed = await got(hr.schedules.update("tick", every=20, priority=3))

    assert way.cuts == 1
    assert changed == known(calm)
    assert ((changed.next - clock.now).total_seconds(), changed.made) == (10.0, 1)


async def test_a_schedule_is_ended_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.queue("mail").schedule("tick", "x", every=60)
    way.lose(mark(calm, "unschedule"), moment)

    assert await got(hr.schedules.delete("tick")) == ["tick"]

    assert way.cuts == 1
    assert calm.schedules.list() == []


@proves("QL-12")
async def test_repeated_pop_makes_a_scheduled_run_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").schedule("tick", "x", every=60)
    way.lose(mark(calm, "pop"), moment)

    assert [lease.id for lease in await got(hr.queue("mail").pop("w"))] == ["tick-1"]

    assert way.cuts == 1
    assert happened(calm) == ["put", "popped"]


async def test_repeated_sweep_makes_a_scheduled_run_once(
    hr: Any, calm: Client, way: Way, moment: str
) -> None:
    calm.queue("mail").schedule("tick", "x", every=60)
    way.lose(mark(calm, "sweep"), moment)

    await got(hr.sweep())

    assert way.cuts == 1
    assert happened(calm) == ["put"]
