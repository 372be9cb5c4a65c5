"""Random steps: no run of a schedule is lost or made twice, whatever happens to it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.engine.support.cron_times import ms_of
from tests.model.schedules.model import Rule
from tests.model.schedules.twin import PLANS, QUEUES, ScheduleTwin
from tests.model.schedules.walks import DAY, HOUR, MINUTE
from tests.proof import proves
from tests.support.effort import EFFORT, examples

IDS = st.sampled_from(PLANS)
NAMES = st.sampled_from(QUEUES)
RULES = st.sampled_from(
    [
        Rule(every=7 * MINUTE),
        Rule(every=HOUR),
        Rule(every=HOUR + 1),
        Rule(cron="*/7 * * * *"),
        Rule(cron="30 2,3 * * *", zone="Europe/Berlin"),
        Rule(cron="*/30 1-3 * * *", zone="Europe/Berlin"),
        Rule(cron="0 0 29 2 *", zone="America/New_York"),
    ]
)
BACKLOGS = st.sampled_from([0, 0, 1, 5, None])
DELAYS = st.sampled_from([None, None, 0, 1, 90 * MINUTE])
# Two of these start times are near the start or the end of daylight saving time.
STARTS = st.sampled_from(["2026-01-01T00:00", "2026-03-28T22:00", "2026-10-24T23:30"])


# A schedule stores the clock changes of its time zone until this time.
KNOWN = ms_of(datetime(2043, 1, 1, tzinfo=UTC))


def may_jump(twin: ScheduleTwin) -> bool:
    """Return whether a jump of the clock creates only as many jobs as the test can read."""
    limited = all(plan.backlog is not None for plan in twin.model.plans.values())
    return limited and twin.model.now < KNOWN


def limited(twin: ScheduleTwin, backlog: int | None) -> int | None:
    """Return a backlog with which a schedule creates only as many jobs as the test can read."""
    behind = any(plan.next < twin.model.now - HOUR for plan in twin.model.plans.values())
    return 0 if backlog is None and behind else backlog


class Schedules(RuleBasedStateMachine):
    """Three schedules in two queues."""

    url: ClassVar[str]
    twin: ScheduleTwin

    @initialize(start=STARTS)
    def begin(self, start: str) -> None:
        self.twin = ScheduleTwin(self.url, start)

    def teardown(self) -> None:
        if hasattr(self, "twin"):
            self.twin.closing.close()

    @rule(plan_id=IDS, queue=NAMES, when=RULES, backlog=BACKLOGS, delay=DELAYS, lost=st.booleans())
    def schedule(
        self,
        plan_id: str,
        queue: str,
        when: Rule,
        backlog: int | None,
        delay: int | None,
        *,
        lost: bool,
    ) -> None:
        backlog = limited(self.twin, backlog)
        self.twin.schedule(plan_id, when, queue=queue, backlog=backlog, delay=delay, lost=lost)

    @rule(plan_id=IDS, queue=NAMES, lost=st.booleans())
    def schedule_again(self, plan_id: str, queue: str, *, lost: bool) -> None:
        plan = self.twin.model.plans.get(plan_id)
        if plan is not None:
            self.twin.schedule(plan_id, plan.rule, queue=queue, lost=lost)

    @rule(plan_id=IDS, when=RULES | st.none(), backlog=BACKLOGS, lost=st.booleans())
    def reschedule(
        self, plan_id: str, when: Rule | None, backlog: int | None, *, lost: bool
    ) -> None:
        backlog = limited(self.twin, backlog)
        self.twin.reschedule(plan_id, when, backlog=backlog, lost=lost)

    @rule(plan_id=IDS, lost=st.booleans())
    def unschedule(self, plan_id: str, *, lost: bool) -> None:
        self.twin.unschedule(plan_id, lost=lost)

    @rule(plan_id=IDS, beyond=st.integers(1, 3))
    def take_an_id(self, plan_id: str, beyond: int) -> None:
        self.twin.take_an_id(plan_id, beyond)

    @rule(queue=NAMES, lost=st.booleans())
    def pop(self, queue: str, *, lost: bool) -> None:
        self.twin.pop(queue, lost=lost)

    @rule(queue=NAMES)
    def peek(self, queue: str) -> None:
        self.twin.peek(queue)

    @rule(lost=st.booleans())
    def sweep(self, *, lost: bool) -> None:
        self.twin.sweep(lost=lost)

    @rule(ms=st.sampled_from([1, 999, MINUTE, 7 * MINUTE, HOUR - 1, HOUR, 5 * HOUR]))
    def tick(self, ms: int) -> None:
        self.twin.tick(ms)

    @rule(ms=st.sampled_from([1, 30_000, HOUR, 3 * DAY]))
    def set_back(self, ms: int) -> None:
        self.twin.tick(-ms)

    @precondition(lambda self: may_jump(self.twin))
    @rule(ms=st.sampled_from([DAY, 40 * DAY, 800 * DAY]))
    def jump_ahead(self, ms: int) -> None:
        self.twin.tick(ms)


@proves("QL-12")
@pytest.mark.slow
@pytest.mark.timeout(300 * EFFORT)
def test_random_steps_match_the_model(private_url: str) -> None:
    class Machine(Schedules):
        url = private_url

    run_state_machine_as_test(Machine, settings=examples(60, stateful_step_count=30))
