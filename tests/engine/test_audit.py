"""The audit finds every corruption and reports where it is."""

from __future__ import annotations

from typing import Any

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


# jobs in the event log


def erase(hr: Client, *names: str) -> None:
    keys = [hr.core.key(0, name) for name in names]
    [deleted] = hr.core.transport.send([(0, ("DEL", *keys))])
    assert deleted == len(keys)


def test_job_evicted_with_its_queue_and_the_books_is_reported(hr: Client, queue: Queue) -> None:
    queue.put(1, id="a")
    erase(hr, "job:a", "waiting:mail", "books:mail", "settings:mail", "queues")

    assert hr.audit().problems == ["job 'a' is gone, but its newest event is 'put'"]


def test_job_evicted_from_its_queue_with_the_books_is_reported(hr: Client, queue: Queue) -> None:
    queue.put(1, id="a")
    erase(hr, "waiting:mail", "books:mail", "settings:mail", "queues")

    assert hr.audit().problems == [
        "job 'a' is recorded as waiting in mail but not listed there",
    ]


def test_job_that_moved_on_before_its_eviction_is_reported(hr: Client, queue: Queue) -> None:
    queue.put(1, id="a")
    queue.pop("ada")[0].complete(next="post")
    erase(hr, "job:a", "waiting:post", "books:post", "settings:post")

    assert hr.audit().problems == ["job 'a' is gone, but its newest event is 'completed'"]


def test_finished_jobs_that_are_no_longer_kept_are_not_reported(hr: Client, clock: Clock) -> None:
    queue = hr.queue("mail")
    queue.configure(keep_count=0)
    hr.queue("line").configure("fifo")
    hr.feed("news").publish("item", id="tagged")
    for name in ("done", "cancelled", "tagged"):
        queue.put(1, id=name)
    queue.put(1, id="expired", start_within=1, priority=9)
    hr.queue("line").put(1, id="popped")
    hr.tags.add("tagged", "t")
    hr.cancel("cancelled")
    for lease in (*queue.pop("ada", count=2), *hr.queue("line").pop("ada")):
        if lease.queue == "mail":
            lease.complete()
    clock.tick(1)
    hr.sweep()

    assert [hr.job(name) for name in ("done", "cancelled", "tagged", "expired", "popped")] == (
        [None] * 5
    )
    assert hr.audit().problems == []


def test_job_that_finishes_during_the_audit_is_not_reported(
    hr: Client, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.configure(keep_count=0)
    queue.put_many(range(600))
    send = hr.core.transport.send
    calls: list[str] = []

    def send_and_finish(commands: Any) -> Any:
        replies = send(commands)
        if "audit_log" in str(commands[0][1]):
            calls.append("audit_log")
            if len(calls) == 1:
                with monkeypatch.context() as plain:
                    plain.setattr(hr.core.transport, "send", send)
                    hr.leases.complete(queue.pop("ada", count=500))
        return replies

    monkeypatch.setattr(hr.core.transport, "send", send_and_finish)

    assert hr.audit().problems == []
    assert len(calls) == 3


def test_evicted_event_log_is_reported(hr: Client, queue: Queue) -> None:
    queue.put_many(range(3))
    erase(hr, "events")

    assert hr.audit().problems == ["event log of shard 0: 3 events are missing"]


def test_evicted_counters_of_the_event_log_are_reported(hr: Client, queue: Queue) -> None:
    queue.put_many(range(3))
    erase(hr, "log")

    assert hr.audit().problems == [
        "event log of shard 0: the counter says 0 events, but the newest event has the number 3"
    ]


def test_trimmed_events_are_not_reported(hr: Client, queue: Queue, clock: Clock) -> None:
    hr.config.set("events_count", 100)
    for _ in range(3):
        queue.put_many(range(1000))
        clock.tick(1)

    assert len(list(hr.events(count=10_000))) < 3000
    assert hr.audit().problems == []
