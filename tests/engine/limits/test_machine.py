"""Whatever happens, no more run than the limits allow, and whoever may start does, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from headrace.errors import HeadraceError
from tests import servers
from tests.effort import EFFORT, sampled
from tests.engine.faults import Fault
from tests.engine.limits.machine import CONCURRENCIES, KEYS, PRIORITIES, QUEUES, THROTTLES, Machine
from tests.engine.limits.model import LEASE

SETTINGS = settings(
    max_examples=50 * EFFORT,
    stateful_step_count=50,
    deadline=None,
    print_blob=True,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)

STEPS = 120
WALKS = 40
NUMBERS = range(10)
Step = tuple[int, str, dict[str, Sequence[Any]]]
STEPS_BY_WEIGHT: list[Step] = [
    (
        6,
        "put",
        {
            "queue": QUEUES,
            "key": KEYS,
            "names": THROTTLES,
            "priority": PRIORITIES,
            "count": (1, 2, 4),
        },
    ),
    (1, "put_plainly", {"queue": QUEUES, "count": (1, 3)}),
    (6, "pop", {"queue": QUEUES, "count": (1, 2, 5, 100)}),
    (3, "complete", {"number": NUMBERS}),
    (1, "heartbeat", {"number": NUMBERS}),
    (1, "release", {"number": NUMBERS, "position": ("front", "back")}),
    (1, "cancel", {"number": NUMBERS}),
    (1, "requeue", {"number": NUMBERS, "queue": QUEUES}),
    (1, "prioritise", {"number": NUMBERS, "priority": PRIORITIES}),
    (2, "tick", {"ms": (1, 333, 1000, LEASE)}),
    (1, "limit_queue", {"queue": QUEUES, "concurrency": (None, 1, 3), "rate": (None, "3/2s")}),
    (1, "limit_keys", {"queue": QUEUES, "concurrency": CONCURRENCIES, "rate": (None, "1/s")}),
    (2, "throttle", {"name": "xy", "concurrency": CONCURRENCIES, "rate": (None, None, "1/s")}),
    (1, "end_throttle", {"name": "xy"}),
]
WEIGHTS = [weight for weight, _, _ in STEPS_BY_WEIGHT]

FAULTS = [
    Fault("a key has no concurrency", "lib/gates", "limits.key_concurrency", "false"),
    Fault("a key has no rate", "lib/gates", "limits.key_rate", "false"),
    Fault("a throttle lets one more through", "lib/gates", ">= concurrency", "> concurrency"),
    Fault(
        "a lease that ran out counts",
        "lib/gates",
        "key('gate', gate), '(' .. now, '+inf')\nend",
        "key('gate', gate), '-inf', '+inf')\nend",
    ),
    Fault(
        "a rate lets one too many through",
        "lib/gates",
        "return left <= 0 and",
        "return left < 0 and",
    ),
    Fault("a rate is not used", "lib/lanes", "use_rate(gate, rate)", "rate_place(gate)"),
    Fault("a queue's rate is not used", "lib/lanes", "if limits.rate then", "if false then"),
    Fault(
        "a queue lets one more run",
        "lib/queue_capacity",
        "local free = shard",
        "local free = 1 + shard",
    ),
    Fault(
        "a freed gate is not looked at",
        "lib/lanes",
        "    zset_remove(key('gate', gate), job.id)\n    freed[gate] = true",
        "",
    ),
    Fault(
        "one lane is let go, the next never",
        "lib/lanes",
        "    look_again(queue, gate)\n    gate = ''\n",
        "    gate = ''\n",
    ),
    Fault(
        "a lane that ends leaves the others parked",
        "lib/lanes",
        "turn .. lane)\n    look_again(queue, gate)\n",
        "turn .. lane)\n",
    ),
    Fault(
        "a lane parked elsewhere leaves the others parked",
        "lib/lanes",
        "look_again(queue, came_from)",
        "look_again(queue, '')",
    ),
    Fault("turns are not fair", "lib/lanes", "settings(queue).fair == 1", "false"),
    Fault(
        "a heartbeat leaves the gates behind",
        "ops/heartbeat",
        "lanes('renew_gates', job, deadline)",
        "lanes('refresh')",
    ),
    Fault(
        "who is over still counts",
        "lib/job_states",
        "lanes('leave_gates', job)\n",
        "lanes('refresh')\n",
    ),
    Fault(
        "a new priority leaves the lane as it was",
        "lib/job_states",
        "  if is_in_lane(job) then\n    lanes('step_in', job, job_member(job))\n  end\nend",
        "end",
    ),
    Fault("raised limits free nothing", "lib/apply_queue_limits", "'WEIGHTS', 0", "'WEIGHTS', 1"),
    Fault("a new throttle frees nothing", "ops/throttle_set", "lanes('free', 't' .. name)", ""),
    Fault(
        "a throttle that ends frees nothing", "lib/end_throttle", "lanes('free', 't' .. name)", ""
    ),
    Fault(
        "who waited before there were lanes waits for ever",
        "lib/use_lanes",
        "== 1 then",
        "== 2 then",
    ),
    Fault(
        "a late job knows no limits",
        "lib/take_expired_leases",
        "and lanes('closed_gate', job) then",
        "and false then",
    ),
    Fault(
        "an empty lane stays parked",
        "lib/lanes",
        "    leave_parked(queue, lane, turn, gate)\n  else",
        "  else",
    ),
]


@pytest.fixture(scope="module")
def private_url() -> Iterator[str]:
    """A server for these tests alone: they look at all its keys."""
    with servers.valkey() as url:
        yield url


@pytest.mark.slow
@pytest.mark.timeout(900 * EFFORT)
def test_limits_hold_at_every_step(private_url: str) -> None:
    class Here(Machine):
        def __init__(self) -> None:
            super().__init__(private_url)

    run_state_machine_as_test(Here, settings=SETTINGS)


def wander(machine: Machine, seed: int) -> None:
    """A walk through the machine that is the same for a seed, and quick."""
    chance = Random(seed)
    machine.open(swaps={}, fair=seed % 2 == 1, lanes=seed % 4 == 2)
    for _ in range(STEPS):
        [(_, name, arguments)] = chance.choices(STEPS_BY_WEIGHT, WEIGHTS)
        getattr(machine, name)(**{key: chance.choice(of) for key, of in arguments.items()})
    machine.teardown()


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled(FAULTS))
def test_a_planted_fault_is_caught(private_url: str, fault: Fault) -> None:
    swaps = fault.swaps()
    with pytest.raises((AssertionError, HeadraceError)):
        wander_on(private_url, swaps)


def wander_on(url: str, swaps: dict[str, str]) -> None:
    for seed in range(WALKS):
        wander(Machine(url, swaps), seed)


def test_without_a_fault_there_is_no_complaint(private_url: str) -> None:
    for seed in range(4):
        wander(Machine(private_url), seed)
