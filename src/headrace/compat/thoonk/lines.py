"""Queue and Job: items that go to one consumer each."""

from __future__ import annotations

from headrace.compat.thoonk import jobs
from headrace.compat.thoonk.registry import Facts
from headrace.operations.method import awaiting, blocking, named


@named
class Queue(Facts):
    """A queue: who gets an item has it, and nothing of it is left; for code that blocks."""

    type = "queue"
    HIGH = jobs.HIGH

    get = blocking(jobs.get)
    get_all = blocking(jobs.waiting_items)
    get_ids = blocking(jobs.waiting_ids)
    get_item = blocking(jobs.get_item)
    has_id = blocking(jobs.has_id)
    length = blocking(jobs.length)
    publish = blocking(jobs.put)
    put = blocking(jobs.put)
    retract = blocking(jobs.retract)


@named
class AsyncQueue(Facts):
    """The same for code that awaits."""

    type = "queue"
    HIGH = jobs.HIGH

    get = awaiting(jobs.get)
    get_all = awaiting(jobs.waiting_items)
    get_ids = awaiting(jobs.waiting_ids)
    get_item = awaiting(jobs.get_item)
    has_id = awaiting(jobs.has_id)
    length = awaiting(jobs.length)
    publish = awaiting(jobs.put)
    put = awaiting(jobs.put)
    retract = awaiting(jobs.retract)


@named
class Job(Facts):
    """A feed of jobs: who gets one says by its id what became of it; for code that blocks."""

    type = "job"
    HIGH = jobs.HIGH

    cancel = blocking(jobs.cancel)
    finish = blocking(jobs.finish)
    get = blocking(jobs.claim)
    get_all = blocking(jobs.every_item)
    get_claimed = blocking(jobs.get_claimed)
    get_failure_count = blocking(jobs.get_failure_count)
    get_ids = blocking(jobs.every_id)
    get_item = blocking(jobs.get_item)
    get_result = blocking(jobs.get_result)
    get_running = blocking(jobs.get_running)
    get_stalled = blocking(jobs.get_stalled)
    has_id = blocking(jobs.has_id)
    length = blocking(jobs.length)
    publish = blocking(jobs.put)
    put = blocking(jobs.put)
    retract = blocking(jobs.retract)
    retry = blocking(jobs.retry)
    stall = blocking(jobs.stall)


@named
class AsyncJob(Facts):
    """The same for code that awaits."""

    type = "job"
    HIGH = jobs.HIGH

    cancel = awaiting(jobs.cancel)
    finish = awaiting(jobs.finish)
    get = awaiting(jobs.claim)
    get_all = awaiting(jobs.every_item)
    get_claimed = awaiting(jobs.get_claimed)
    get_failure_count = awaiting(jobs.get_failure_count)
    get_ids = awaiting(jobs.every_id)
    get_item = awaiting(jobs.get_item)
    get_result = awaiting(jobs.get_result)
    get_running = awaiting(jobs.get_running)
    get_stalled = awaiting(jobs.get_stalled)
    has_id = awaiting(jobs.has_id)
    length = awaiting(jobs.length)
    publish = awaiting(jobs.put)
    put = awaiting(jobs.put)
    retract = awaiting(jobs.retract)
    retry = awaiting(jobs.retry)
    stall = awaiting(jobs.stall)
