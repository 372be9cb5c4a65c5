"""complete, fail, heartbeat and release: only the holder of the current lease may call them.

Each verb is tried in every way in which a lease can be lost. The modules test_complete, test_fail,
test_heartbeat and test_release test what only one verb does.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import Client, InvalidArgument, JobNotFound, Lease, LeaseLost, Queue
from headrace.testing import Clock
from tests.model.harness import RepeatingConnection
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump
from tests.support.jobs import pop_one

Verb = Callable[[Lease], Any]

VERBS: dict[str, Verb] = {
    "complete": lambda lease: lease.complete("result", data="new"),
    "complete to the next queue": lambda lease: lease.complete(next="archive", delay=5),
    "fail": lambda lease: lease.fail("broken", data="new"),
    "fail with a retry": lambda lease: lease.fail("broken", retry_in=0),
    "heartbeat": lambda lease: lease.heartbeat(data="new"),
    "release": lambda lease: lease.release(),
}
FINISHED: dict[str, tuple[str, Verb]] = {
    "complete": ("complete", lambda lease: lease.complete()),
    "fail": ("failed", lambda lease: lease.fail("broken")),
    "fail with a retry": ("waiting", lambda lease: lease.fail("flaky", retry_in=0)),
    "release": ("waiting", lambda lease: lease.release()),
}

every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


@proves("Q-52", "Q-53", "Q-54", "Q-62", "Q-79")
@every_verb
@pytest.mark.parametrize("cause", ["lease expired", "timeout by an operator"])
def test_lost_lease_is_refused_and_changes_nothing(
    hr: Client, queue: Queue, clock: Clock, verb: Verb, cause: str
) -> None:
    queue.put("old", id="x")
    former = pop_one(queue, lease=30)
    if cause == "lease expired":
        clock.tick(30)
    else:
        hr.timeout("x")
    present = pop_one(queue, "w2")
    before = dump(hr)

    with pytest.raises(LeaseLost, match="stop working on it") as lost:
        verb(former)

    assert (lost.value.job_id, lost.value.state, lost.value.worker) == ("x", "running", "w2")
    assert dump(hr) == before
    assert present.release() == "waiting"


@proves("Q-62", "Q-77", "Q-78", "QL-04")
@every_verb
@pytest.mark.parametrize(("state", "finish"), FINISHED.values(), ids=FINISHED)
def test_lease_is_lost_once_the_job_is_finished_or_returned(
    hr: Client, queue: Queue, verb: Verb, state: str, finish: Verb
) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    finish(lease)
    before = dump(hr)

    with pytest.raises(LeaseLost) as lost:
        verb(lease)

    assert lost.value.state == state
    assert dump(hr) == before


@proves("Q-52", "Q-62")
@every_verb
def test_cancelled_job_is_not_found(hr: Client, queue: Queue, verb: Verb) -> None:
    queue.put(1, id="x")
    lease = pop_one(queue)
    hr.cancel("x")
    before = dump(hr)

    with pytest.raises(JobNotFound):
        verb(lease)

    assert dump(hr) == before


@every_verb
def test_repeated_call_with_a_lost_lease_is_refused_too(
    hr: Client, queue: Queue, verb: Verb
) -> None:
    queue.put("x")
    lease = pop_one(queue)
    hr.release(lease.id)
    RepeatingConnection(hr).on = True

    with pytest.raises(LeaseLost):
        verb(lease)


@every_verb
@pytest.mark.parametrize("by_operator", ["finish", "fail", "release"])
def test_holder_is_notified_when_an_operator_takes_the_job(
    hr: Client, queue: Queue, url: str, verb: Verb, by_operator: str
) -> None:
    queue.put("x")
    lease = pop_one(queue, "w")
    arguments = ("broken",) if by_operator == "fail" else ()
    with listening(hr, url, "worker:w") as holder:
        getattr(hr, by_operator)(lease.id, *arguments)

        assert holder.told() == [["lost", lease.id, lease.token]]
    with pytest.raises(LeaseLost):
        verb(lease)


BULK: dict[str, Callable[[Client, list[Lease]], list[Any]]] = {
    "complete_many": lambda hr, leases: hr.leases.complete(leases),
    "heartbeat_many": lambda hr, leases: hr.leases.heartbeat(leases, lease_for=60),
    "release_many": lambda hr, leases: hr.leases.release(leases),
}


@pytest.mark.parametrize("name", BULK)
@pytest.mark.parametrize(("state", "finish"), FINISHED.values(), ids=FINISHED)
def test_bulk_call_answers_for_each_lease(
    hr: Client, queue: Queue, clock: Clock, name: str, state: str, finish: Verb
) -> None:
    queue.put_many([1, 2, 3])
    leases = queue.pop("w1", count=3, lease=30)
    finish(leases[1])
    hr.cancel(leases[2].id)
    renewed = clock.now + timedelta(seconds=60)

    done, lost, gone = BULK[name](hr, leases)

    assert done == {"complete_many": "complete", "release_many": "waiting"}.get(name, renewed)
    assert isinstance(lost, LeaseLost)
    assert lost.state == state
    assert isinstance(gone, JobNotFound)


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("complete", {"next": ""}),
    ("complete", {"next": 5}),
    ("complete", {"delay": 5}),
    ("complete", {"next": "archive", "delay": -1}),
    ("complete", {"next": "archive", "result": 1}),
    ("complete", {"data": 3j}),
    ("complete", {"result": 3j}),
    ("fail", {"failure": ""}),
    ("fail", {"failure": 5}),
    ("fail", {"failure": "a\nb"}),
    ("fail", {"failure": "a" * 251}),
    ("fail", {"failure": "a", "message": 5}),
    ("fail", {"failure": "a", "retry_in": -1}),
    ("fail", {"failure": "a", "retry_in": "1"}),
    ("fail", {"failure": "a", "data": 3j}),
    ("heartbeat", {"lease_for": -1}),
    ("heartbeat", {"lease_for": float("inf")}),
    ("heartbeat", {"lease_for": "60"}),
    ("heartbeat", {"lease_for": True}),
    ("release", {"position": "middle"}),
    ("release", {"delay": -1}),
    ("release", {"delay": "soon"}),
]


@proves("Q-04")
@pytest.mark.parametrize(("verb", "options"), WRONG, ids=str)
def test_wrong_argument_is_refused_and_changes_nothing(
    hr: Client, queue: Queue, verb: str, options: dict[str, Any]
) -> None:
    queue.put(1)
    lease = pop_one(queue)
    before = dump(hr)

    with pytest.raises(InvalidArgument, match="lease_for" if verb == "heartbeat" else None):
        getattr(lease, verb)(**options)

    assert dump(hr) == before
