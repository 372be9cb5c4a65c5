"""The job and the queue of the qless document."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

from headrace import Client
from headrace.testing import START, Clock
from tests.compat.qless.conftest import OpenQless
from tests.proof import proves

NOW = START.timestamp()
FIELDS = ["id", "priority", "data", "tags", "worker", "expires", "state", "queue", "history"]


@proves("Q-01")
def test_concurrent_pops_give_each_job_to_one_client(open_qless: OpenQless) -> None:
    queues = [open_qless(f"w{number}").queues["testing"] for number in range(4)]
    for number in range(10):
        queues[0].put(number)

    def popped(queue: Any) -> list[Any]:
        return [job.data for job in queue.pop(4)]

    with ThreadPoolExecutor() as pool:
        found = list(pool.map(popped, queues))

    assert sorted(chain.from_iterable(found)) == list(range(10))


@proves("Q-70")
def test_job_has_the_fields_of_the_document(qless: Any, queue: Any) -> None:
    queue.put({"hello": "how are you"}, tags=["testing", "experimental"], id="j")
    job = queue.pop()

    assert list(job.structure()) == FIELDS
    assert job.structure() == qless.get("j")
    assert all(hasattr(job, name) for name in FIELDS)
    assert repr(job).endswith("Job 'j' of 'testing', running>")


@proves("Q-71", "QD-06")
def test_job_passes_through_the_states_of_qless(qless: Any, queue: Any) -> None:
    seen = []
    asked: dict[str, Any] = {"a": {}, "b": {"delay": 9}, "c": {"depends": ["a"]}}
    for name, options in asked.items():
        queue.put(1, id=name, **options)
        seen.append((qless.jobs[name]).state)
    job = queue.pop()
    seen.append(job.state)
    job.complete()
    seen.append((qless.jobs["a"]).state)
    qless.fail("b", "kind", "why", NOW)
    seen.append((qless.jobs["b"]).state)

    assert seen == ["waiting", "scheduled", "depends", "running", "complete", "failed"]


@proves("Q-72")
def test_history_has_an_entry_for_every_attempt(qless: Any, other: Any, clock: Clock) -> None:
    qless.queues["test1"].put(1, id="j")
    clock.tick(10)
    qless.queues["test1"].pop()
    clock.tick(60)
    job = other.queues["test1"].pop()
    clock.tick(5)
    job.complete("test2")

    assert (qless.jobs["j"]).history == [
        ["test1", NOW, NOW + 10, None, "w1"],
        ["test1", NOW, NOW + 70, NOW + 75, "w2"],
        ["test2", NOW + 75, None, None, None],
    ]


@proves("Q-86", "QL-17")
def test_queue_length_counts_waiting_scheduled_depending_and_running_jobs(
    queue: Any, qless: Any, hr: Client
) -> None:
    asked: dict[str, Any] = {"a": {}, "b": {}, "c": {"delay": 9}, "d": {"depends": ["b"]}}
    for name, options in asked.items():
        queue.put(1, id=name, **options)
    queue.pop()
    queue.put(1, id="e")
    qless.fail("e", "kind", "why", NOW)

    assert queue.length() == 4
    counts = queue.counts()
    assert counts == {
        "name": "testing",
        "waiting": 1,
        "running": 1,
        "stalled": 0,
        "scheduled": 1,
        "depends": 1,
        "recurring": 0,
        "paused": False,
    }
    assert qless.queues.counts() == [counts]
    assert hr.audit().balanced
