"""The list of workers: registered by a pop, forgotten after a time, deregistered."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace import Client
from headrace.compat.qless import Qless
from headrace.testing import Clock
from tests.proof import proves
from tests.support.dump import dump


def names(qless: Any) -> list[str]:
    return [worker["name"] for worker in qless.workers.counts()]


@proves("QL-18")
def test_pop_from_an_empty_queue_registers_the_worker(qless: Any, queue: Any, hr: Client) -> None:
    assert queue.pop(worker="ada") is None
    assert Qless(hr, "bob").pop("nowhere", "bob", 1, 0, 60) == []

    assert qless.workers.counts() == [
        {"name": "ada", "jobs": 0, "stalled": 0},
        {"name": "bob", "jobs": 0, "stalled": 0},
    ]


@proves("QL-18")
def test_worker_stays_listed_after_its_job_and_is_forgotten_after_a_day(
    qless: Any, queue: Any, clock: Clock
) -> None:
    queue.put(1, id="j")
    job = queue.pop(worker="ada")
    clock.tick(timedelta(hours=1))
    assert job.heartbeat() > 0
    assert job.complete() == "complete"

    clock.tick(timedelta(days=1, milliseconds=-1))
    assert names(qless) == ["ada"]
    clock.tick(0.001)
    assert names(qless) == []


@proves("QL-18")
def test_age_of_silent_workers_can_be_configured(qless: Any, queue: Any, clock: Clock) -> None:
    assert qless.get_config("max-worker-age") == 86400
    queue.pop(worker="ada")
    qless.set_config("max-worker-age", 60)

    clock.tick(59)
    assert names(qless) == ["ada"]
    clock.tick(1)
    assert names(qless) == []
    qless.set_config("max-worker-age")
    assert names(qless) == ["ada"]


@proves("QL-18")
def test_silent_workers_are_removed_from_the_server(queue: Any, hr: Client, clock: Clock) -> None:
    for number in range(3):
        queue.pop(worker=f"w{number}")
    clock.tick(timedelta(days=1))

    queue.pop(worker="late")

    [key] = [key for key in dump(hr) if key.endswith(":workers")]
    assert dump(hr)[key][1][::2] == [b"late"]


@proves("QL-18")
def test_worker_can_be_deregistered(qless: Any, queue: Any) -> None:
    for worker in ("ada", "bob", "eve"):
        queue.pop(worker=worker)

    qless.workers.deregister("ada", "eve", "unknown")

    assert names(qless) == ["bob"]
    queue.pop(worker="ada")
    assert names(qless) == ["ada", "bob"]


@proves("QL-18")
def test_deregistered_worker_stays_listed_while_it_holds_a_job(qless: Any, queue: Any) -> None:
    queue.put(1, id="j")
    queue.pop(worker="ada")

    qless.workers.deregister("ada")

    assert qless.workers.counts() == [{"name": "ada", "jobs": 1, "stalled": 0}]
