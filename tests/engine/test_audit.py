"""The audit finds every corruption and reports where it is."""

from __future__ import annotations

import pytest

from headrace import Client, Queue
from headrace.testing import Clock
from tests.model.corruptions import CORRUPTIONS, Corruption, check_audit, one_in_every_state
from tests.support.dump import dump


@pytest.mark.parametrize("corruption", CORRUPTIONS, ids=str)
def test_audit_reports_a_corruption(hr: Client, clock: Clock, corruption: Corruption) -> None:
    check_audit(hr, clock, corruption)


def test_audit_counts_queues_and_jobs(hr: Client, clock: Clock) -> None:
    one_in_every_state(hr, clock)
    hr.queue("post").put("letter")

    audit = hr.audit()

    assert (audit.balanced, audit.problems, audit.queues, audit.jobs) == (True, [], 2, 8)


def test_empty_namespace_balances(hr: Client) -> None:
    assert (hr.audit().balanced, hr.audit().queues, hr.audit().jobs) == (True, 0, 0)


def test_an_audit_looks_at_more_than_one_page_of_jobs(hr: Client, queue: Queue) -> None:
    queue.put_many(range(1201))
    assert (hr.audit().balanced, hr.audit().jobs) == (True, 1201)


def test_an_audit_changes_nothing(hr: Client, clock: Clock) -> None:
    one_in_every_state(hr, clock)
    before = dump(hr)
    hr.audit()
    assert dump(hr) == before


def test_audit_reports_every_corruption(hr: Client, clock: Clock) -> None:
    one_in_every_state(hr, clock)
    by_name = {corruption.name: corruption for corruption in CORRUPTIONS}
    by_name["the scheduled job has no record"].inflict(hr)
    by_name["the running job has no holder"].inflict(hr)
    by_name["one cancelled too many in the books"].inflict(hr)

    problems = hr.audit().problems

    assert [problem.partition(" ")[0] for problem in problems] == ["job", "job", "queue"]
    assert "'scheduled'" in problems[0]
    assert "'running'" in problems[1]
    assert "'mail'" in problems[2]


def test_result_without_its_job_is_not_reported(hr: Client, clock: Clock) -> None:
    queue = hr.queue("hands")
    queue.configure("manual")
    queue.put(1, id="a")
    queue.pop("ada")[0].complete("done")
    clock.tick(1)
    assert hr.audit().balanced
