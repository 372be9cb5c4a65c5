"""Random walks through limits; a seed always gives the same walk."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.model.harness import Check, Swaps, named
from tests.model.limits.machine import CONCURRENCIES, KEYS, PRIORITIES, QUEUES, THROTTLES, Machine
from tests.model.limits.model import LEASE

STEPS = 120
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
    (
        1,
        "limit_queue",
        {"queue": QUEUES, "concurrency": (None, 1, 3), "rate": (None, "3/2s", "1/m")},
    ),
    (
        1,
        "limit_keys",
        {"queue": QUEUES, "concurrency": CONCURRENCIES, "rate": (None, "1/s", "1/m")},
    ),
    (
        2,
        "throttle",
        {"name": "xy", "concurrency": CONCURRENCIES, "rate": (None, None, "1/s", "1/m")},
    ),
    (1, "end_throttle", {"name": "xy"}),
]
WEIGHTS = [weight for weight, _, _ in STEPS_BY_WEIGHT]


def walk(seed: int) -> Check:
    """Return a check that takes random steps; the seed decides which."""

    def run(url: str, swaps: Swaps) -> None:
        chance = Random(seed)
        machine = Machine(url, swaps)
        machine.open(swaps={}, fair=seed % 2 == 1, lanes=seed % 4 == 2)
        with machine.twin:
            for _ in range(STEPS):
                [(_, name, arguments)] = chance.choices(STEPS_BY_WEIGHT, WEIGHTS)
                getattr(machine, name)(**{key: chance.choice(of) for key, of in arguments.items()})
            machine.teardown()

    return named(f"walk {seed}", run)
