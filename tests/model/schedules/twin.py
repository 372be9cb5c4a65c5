"""The scripts of schedules and their model: every call is made on both, and compared."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from headrace import Schedule, ScheduleNotFound
from headrace.engine.call import build
from headrace.engine.timestamps import moment
from tests.engine.support.cron_times import ms_of
from tests.model.harness import RepeatingConnection, Swaps, Twin
from tests.model.schedules.model import Plan, Plans, Rule
from tests.support.dump import dump

PLANS = ("a", "b", "c")
QUEUES = ("mail", "post")
YEARS = timedelta(days=3650)


class ScheduleTwin(Twin[Plans]):
    """The server and the model of schedules; each step compares the two."""

    def __init__(self, url: str, start: str, swaps: Swaps | None = None) -> None:
        super().__init__(url, Plans(ms_of(datetime.fromisoformat(f"{start}+00:00"))), swaps)
        self.connection = RepeatingConnection(self.hr, compare=False)
        # Finished jobs and their events are kept, so that all of them can be compared.
        self.hr.config.set("keep_age", YEARS)
        self.hr.config.set("events_age", YEARS)
        self.number = 0
        self.seen = 0

    def schedule(
        self,
        plan_id: str,
        rule: Rule,
        *,
        queue: str = "mail",
        backlog: int | None = 0,
        delay: int | None = None,
        lost: bool = False,
    ) -> None:
        self.connection.on = lost
        self.number += 1
        self.hr.queue(queue).schedule(
            plan_id,
            self.number,
            **rule.given(),
            backlog=backlog,
            delay=None if delay is None else delay / 1000,
        )
        self.model.schedule(plan_id, queue, rule, backlog, self.number, delay)
        self.check()

    def reschedule(
        self, plan_id: str, rule: Rule | None, *, backlog: int | None = 0, lost: bool = False
    ) -> None:
        self.connection.on = lost
        self.number += 1
        given: dict[str, Any] = rule.given() if rule else {}
        if plan_id not in self.model.plans:
            with pytest.raises(ScheduleNotFound):
                self.hr.schedules.update(plan_id, **given)
            return
        self.hr.schedules.update(plan_id, data=self.number, backlog=backlog, **given)
        as_it_was = self.model.plans[plan_id].rule
        self.model.reschedule(plan_id, rule or as_it_was, backlog, self.number)
        self.check()

    def unschedule(self, plan_id: str, *, lost: bool = False) -> None:
        self.connection.on = lost
        there = plan_id in self.model.plans
        assert self.hr.schedules.delete(plan_id) == ([plan_id] if there else [])
        self.model.plans.pop(plan_id, None)
        self.check()

    def take_an_id(self, plan_id: str, beyond: int) -> None:
        self.connection.on = False
        plan = self.model.plans.get(plan_id)
        job_id = f"{plan_id}-{(plan.counter if plan else 0) + beyond}"
        if job_id not in self.model.taken:
            self.hr.queue("elsewhere").put("x", id=job_id)
            self.model.taken.add(job_id)

    def pop(self, queue: str = "mail", *, lost: bool = False) -> None:
        self.connection.on = lost
        self.model.spawn(queue)
        while leases := self.hr.queue(queue).pop("w", count=500):
            self.hr.leases.complete(leases)
        self.check()
        self.check_due(queue)

    def peek(self, queue: str = "mail") -> None:
        self.model.spawn(queue)
        self.hr.queue(queue).peek(1)
        self.check()

    def sweep(self, *, lost: bool = False) -> None:
        self.connection.on = lost
        for queue in QUEUES:
            self.model.spawn(queue)
        self.hr.sweep()
        self.check()

    def delete(self, queue: str) -> None:
        self.hr.queue(queue).delete()
        plans = self.model.plans.values()
        self.model.plans = {plan.id: plan for plan in plans if plan.queue != queue}
        self.seen = len(self.model.turns)

    def left(self) -> set[str]:
        """Return the keys that belong to schedules."""
        names = {key.split("}:")[1] for key in dump(self.hr)}
        return {name for name in names if name.startswith("schedule")}

    def check(self) -> None:
        self.connection.on = False
        self.connection.sent = 0
        for plan_id in PLANS:
            _compare(self.model.plans.get(plan_id), self.hr.schedules.get(plan_id))
        by_next = sorted(self.model.plans.values(), key=lambda plan: (plan.next, plan.id))
        assert [one.id for one in self.hr.schedules.list()] == [plan.id for plan in by_next]
        for queue in QUEUES:
            here = [plan.id for plan in by_next if plan.queue == queue]
            assert [one.id for one in self.hr.schedules.list(queue)] == here
        self._check_turns()
        assert self.hr.audit().problems == []

    def _check_turns(self) -> None:
        """Assert that each run is one job, put when it was due, and that its events name it."""
        new = self.model.turns[self.seen :]
        self.seen = len(self.model.turns)
        jobs = self.hr.jobs([job_id for job_id, _ in new])
        assert [(job.id, job.put_at) for job in jobs] == new
        assert [job.schedule for job in jobs] == [job_id[0] for job_id, _ in new]
        expected = sorted(job_id for job_id, _ in self.model.turns)
        events = [event for event in self.hr.events() if event.schedule]
        assert sorted(event.job_id for event in events) == expected
        assert all(event.schedule == event.job_id[0] for event in events)

    def check_due(self, queue: str) -> None:
        """Assert that an empty queue reports when its next job is due."""
        call = build(
            "pop",
            lambda reply: reply,
            queue=queue,
            worker="w",
            secret=b"s",
            count=1,
            lease=-1,
            offer=0,
        )
        found = self.ask(call)
        due = [plan.next for plan in self.model.plans.values() if plan.queue == queue]
        assert found == [min(due) - self.model.now if due else -1, []]


def _compare(plan: Plan | None, found: Schedule | None) -> None:
    if plan is None or found is None:
        assert (plan, found) == (None, None)
        return
    assert (found.queue, found.backlog, found.data) == (plan.queue, plan.backlog, plan.data)
    assert found.every == (plan.rule.every / 1000 or None)
    assert (found.cron or "", found.zone or "UTC") == (plan.rule.cron, plan.rule.zone)
    assert (found.next, found.made) == (moment(plan.next), plan.made)
    assert found.counter == plan.counter
    assert found.last == (None if plan.last is None else moment(plan.last))
