"""The leases of a worker, as an operator sees them."""

from __future__ import annotations

from headrace import Client, Queue
from tests.proof import proves
from tests.support.jobs import pop_one


@proves("QL-18")
def test_workers_with_a_session_are_listed_with_the_jobs_they_hold(
    hr: Client, queue: Queue
) -> None:
    other = hr.queue("other")
    queue.put_many(range(3))
    other.put(4)
    for name in ("w1", "w2", "idle"):
        hr.session(name)
    queue.pop("w1", count=2)
    pop_one(other, worker="w1")
    lease = pop_one(queue, worker="w2")

    assert {worker.name: worker.jobs for worker in hr.workers.list()} == {
        "w1": 3,
        "w2": 1,
        "idle": 0,
    }
    held = {job.id: job.worker for job in queue.jobs("running").jobs}
    assert (len(held), held[lease.id]) == (3, "w2")

    lease.complete()
    assert {worker.name: worker.jobs for worker in hr.workers.list()} == {
        "w1": 3,
        "w2": 0,
        "idle": 0,
    }


@proves("QL-18")
def test_a_worker_whose_session_ended_is_forgotten(hr: Client, queue: Queue) -> None:
    queue.put(1)
    session = hr.session("w1")
    queue.pop("w1")

    session.end()

    assert (hr.workers.list(), queue.counts().waiting) == ([], 1)
