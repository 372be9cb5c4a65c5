"""The model of schedules in plain Python: when runs are due, and which runs create a job."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim

from headrace.engine.timestamps import moment
from tests.engine.support.cron_times import ms_of

DAY = 86_400_000


@dataclass(frozen=True)
class Rule:
    """When runs are due: at an interval in milliseconds, or by a cron expression in a time zone."""

    every: int = 0
    cron: str = ""
    zone: str = "UTC"

    def given(self) -> dict[str, Any]:
        """Return the rule as arguments of a call."""
        return (
            {"every": self.every / 1000} if self.every else {"cron": self.cron, "zone": self.zone}
        )

    def between(self, after: int, until: int) -> list[int]:
        """Return the times of the cron expression between two timestamps."""
        found: list[int] = []
        for local in CronSim(self.cron, moment(after).astimezone(ZoneInfo(self.zone))):
            at = ms_of(local.astimezone(UTC))
            if at > until:
                break
            # In the second occurrence of a repeated hour, skip the times of its first occurrence.
            if at > after:
                found.append(at)
        return found

    def newest(self, count: int, after: int, until: int) -> list[int]:
        """Return at most `count` of the newest times of the expression between two timestamps."""
        span = DAY
        while len(found := self.between(max(after, until - span), until)) < count:
            if until - span <= after:
                break
            span *= 2
        return found[-count:]

    def next_after(self, after: int) -> int:
        """Return the first time of the expression after a timestamp."""
        for local in CronSim(self.cron, moment(after).astimezone(ZoneInfo(self.zone))):
            at = ms_of(local.astimezone(UTC))
            if at > after:
                return at
        raise AssertionError(f"{self.cron} never matches")


@dataclass
class Plan:
    """A schedule and all its runs: the number of each job, and when it was due."""

    id: str
    queue: str
    rule: Rule
    backlog: int | None
    data: int
    next: int = 0
    after: int = 0
    counter: int = 0
    made: int = 0
    last: int | None = None

    def begin(self, at: int) -> None:
        self.after = at
        self.next = at if self.rule.every else self.rule.next_after(at)

    def missed(self, now: int) -> list[int]:
        """Return the due runs that create a job."""
        if self.rule.every:
            every = range(self.next, now + 1, self.rule.every)
            return list(every if self.backlog is None else every[-self.backlog - 1 :])
        if self.backlog is None:
            return self.rule.between(self.after, now)
        return self.rule.newest(self.backlog + 1, self.after, now)


@dataclass
class Plans:
    """All schedules of a namespace."""

    now: int
    taken: set[str] = field(default_factory=set)
    plans: dict[str, Plan] = field(default_factory=dict)
    turns: list[tuple[str, datetime]] = field(default_factory=list)

    def schedule(
        self,
        plan_id: str,
        queue: str,
        rule: Rule,
        backlog: int | None,
        data: int,
        delay: int | None,
    ) -> None:
        old = self.plans.get(plan_id)
        plan = Plan(plan_id, queue, rule, backlog, data)
        plan.begin(self.now + (delay or 0))
        if old is not None:
            plan.counter, plan.made, plan.last = old.counter, old.made, old.last
            if old.rule == rule and delay is None:
                plan.next, plan.after = old.next, old.after
        self.plans[plan_id] = plan

    def reschedule(self, plan_id: str, rule: Rule, backlog: int | None, data: int) -> None:
        plan = self.plans[plan_id]
        plan.backlog, plan.data = backlog, data
        if rule == plan.rule:
            return
        plan.rule = rule
        if not rule.every:
            plan.begin(self.now)
        elif plan.last is not None:
            plan.next = plan.last + rule.every

    def spawn(self, queue: str) -> None:
        """Create the jobs of the due runs of a queue, as a pop, a peek or a sweep does."""
        for plan in self.plans.values():
            if plan.queue == queue and plan.next <= self.now:
                self._go_on(plan)

    def _go_on(self, plan: Plan) -> None:
        for at in plan.missed(self.now):
            plan.counter += 1
            while f"{plan.id}-{plan.counter}" in self.taken:
                plan.counter += 1
            job_id = f"{plan.id}-{plan.counter}"
            self.taken.add(job_id)
            self.turns.append((job_id, moment(at)))
            plan.made += 1
            plan.last = plan.after = at
        if plan.rule.every:
            passed = (self.now - plan.next) // plan.rule.every + 1
            plan.next += passed * plan.rule.every
        else:
            plan.next = plan.rule.next_after(self.now)
