"""Short sequences in which pop once delivered jobs in the wrong order; random steps found them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.model.harness import Check, Swaps
from tests.model.limits.machine import Machine
from tests.model.limits.model import LEASE


@contextmanager
def opened(url: str, swaps: Swaps, *, fair: bool) -> Iterator[Machine]:
    machine = Machine(url, swaps)
    machine.open(swaps={}, fair=fair, lanes=False)
    with machine.twin:
        yield machine
        machine.teardown()


def pop(machine: Machine, expected: list[str], count: int | None = None) -> None:
    count = count or len(expected)
    popped = machine.hr.queue("one").pop("ada", count=count)
    machine.leases |= {lease.id: lease for lease in popped}
    assert [lease.id for lease in popped] == expected
    assert machine.model.pop("one", count) == expected


def the_last_of_several_expired_leases_decides_the_turn(url: str, swaps: Swaps) -> None:
    with opened(url, swaps, fair=True) as machine:
        machine.put("one", "a", (), 0, 1)  # j1
        machine.put("one", "b", (), 0, 2)  # j2 and j3
        machine.put("one", "a", (), 0, 2)  # j4 and j5
        pop(machine, ["j1", "j2", "j4"])
        machine.tick(LEASE)
        # The expired leases come first. Key a is served last with j4, so key b is next.
        pop(machine, ["j1", "j2", "j4", "j3", "j5"])


def expired_jobs_held_back_by_a_throttle_take_the_turn_of_the_oldest(
    url: str, swaps: Swaps
) -> None:
    with opened(url, swaps, fair=True) as machine:
        machine.put("one", "", ("x",), 0, 1)  # j1
        machine.put("one", "a", (), 0, 1)  # j2
        machine.put("one", "b", (), 0, 1)  # j3
        machine.put("one", "", ("x",), 0, 1)  # j4
        pop(machine, ["j1", "j2", "j3", "j4"])
        machine.tick(1)
        machine.heartbeat(0)  # The lease of j1 now expires after the lease of j4.
        machine.release(1, "front")
        machine.release(1, "front")
        machine.throttle("x", 0, None)
        machine.tick(LEASE)
        pop(machine, ["j2"])
        machine.throttle("x", None, None)
        pop(machine, ["j1", "j3", "j4"])


def released_lane_that_moves_back_lets_a_parked_lane_come_first(url: str, swaps: Swaps) -> None:
    with opened(url, swaps, fair=False) as machine:
        machine.throttle("x", 0, None)
        machine.put("one", "a", ("x",), 0, 1)  # j1
        machine.put("one", "b", ("x",), 0, 1)  # j2
        pop(machine, [], count=1)  # Both lanes are parked at the throttle.
        machine.put("one", "", (), -1, 1)  # j3
        machine.throttle("x", 1, None)
        pop(machine, ["j3"])  # This pop releases the lane of j1, but does not serve it.
        machine.prioritise(0, 5)
        pop(machine, ["j2"])


def first_job_that_moves_back_moves_its_lane(url: str, swaps: Swaps) -> None:
    with opened(url, swaps, fair=True) as machine:
        machine.put("one", "a", (), 0, 1)  # j1
        machine.put("one", "a", (), 2, 1)  # j2
        machine.put("one", "b", (), 1, 1)  # j3
        machine.prioritise(0, 5)
        pop(machine, ["j3", "j2", "j1"])


CHECKS: list[Check] = [
    the_last_of_several_expired_leases_decides_the_turn,
    expired_jobs_held_back_by_a_throttle_take_the_turn_of_the_oldest,
    released_lane_that_moves_back_lets_a_parked_lane_come_first,
    first_job_that_moves_back_moves_its_lane,
]
