"""check_leases: a worker that may have missed a notice asks which leases are still valid."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace import Client, Lease, Queue
from headrace.engine.call import Call, build
from headrace.operations.requests import ask_one
from headrace.testing import Clock
from headrace.transport.drive import drive
from tests.proof import proves
from tests.support.dump import dump
from tests.support.jobs import pop_one


def asked(hr: Client, *proofs: tuple[str, str]) -> list[str]:
    call: Call[list[bytes]] = build("check_leases", list, proofs)
    return [answer.decode() for answer in drive(hr.core.transport, ask_one(hr.core, 0, call))]


def late(hr: Client, _lease: Lease) -> None:
    Clock(hr).tick(3600)


BECAME: dict[str, tuple[str, Callable[[Client, Lease], object]]] = {
    "nothing": ("held", lambda _hr, _lease: None),
    "renewed": ("held", lambda _hr, lease: lease.heartbeat()),
    "late, but not reclaimed": ("held", late),
    "complete": ("lost", lambda _hr, lease: lease.complete()),
    "failed": ("lost", lambda _hr, lease: lease.fail("io")),
    "waiting": ("lost", lambda _hr, lease: lease.release()),
    "scheduled": ("lost", lambda _hr, lease: lease.release(delay=5)),
    "taken back": ("lost", lambda hr, lease: hr.timeout(lease.id)),
    "cancelled": ("cancelled", lambda hr, lease: hr.cancel(lease.id)),
}


@proves("QL-14")
@pytest.mark.parametrize("what", BECAME)
def test_lease_is_valid_as_long_as_its_holder_has_the_job(
    hr: Client, queue: Queue, what: str
) -> None:
    answer, happens = BECAME[what]
    queue.put(1)
    lease = pop_one(queue)
    happens(hr, lease)
    before = dump(hr)

    assert asked(hr, (lease.id, lease.token)) == [answer]

    assert dump(hr) == before


def test_only_the_lease_token_identifies_the_holder(hr: Client, queue: Queue, clock: Clock) -> None:
    queue.put(1, id="a")
    first = pop_one(queue, "w")
    clock.tick(60)
    second = pop_one(queue, "w")

    proofs = [("a", first.token), ("a", second.token), ("a", ""), ("b", second.token)]

    assert asked(hr, *proofs) == ["lost", "held", "lost", "cancelled"]


def test_empty_list_sends_no_command(hr: Client) -> None:
    assert asked(hr) == []
