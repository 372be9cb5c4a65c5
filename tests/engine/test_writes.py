"""Whatever happens to drivers: each row of what was decided becomes a job once, no other does."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis.exceptions import ResponseError

from headrace import HeadraceError
from tests.effort import EFFORT, sampled
from tests.engine.drivers import DAY, World
from tests.engine.faults import Fault
from tests.engine.write_faults import WRITE_FAULTS
from tests.engine.written import writes_one_by_one

# How often each thing happens, beside the others.
HAPPENS = [
    *["begin"] * 2,
    *["step"] * 12,
    *["repeat"] * 4,
    *("abort", "crash", "wait", "wait", "sweep", "work"),
]
MANY = st.integers(0, 1000)
STEPS = st.one_of(
    st.tuples(st.just("begin"), st.integers(0, 3), st.integers(0, 5)),
    *[st.tuples(st.just("step"), MANY)] * 6,
    st.tuples(st.just("abort"), MANY),
    st.tuples(st.just("crash"), MANY),
    *[st.tuples(st.just("repeat"), MANY)] * 2,
    st.tuples(st.just("wait"), st.sampled_from([1, 2, 3600, DAY])),
    st.tuples(st.just("sweep"), MANY),
    st.tuples(st.just("work"), MANY),
)


@pytest.mark.parametrize("shards", [1, 3])
def test_each_row_of_what_was_decided_becomes_a_job_once(valkey_url: str, shards: int) -> None:
    @settings(
        max_examples=60 * EFFORT,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(STEPS, min_size=5, max_size=60))
    def happens(steps: list[tuple[str, int] | tuple[str, int, int]]) -> None:
        world = World(valkey_url, shards)
        with world.hr:
            for what, *about in steps:
                getattr(world, what)(*about)
                world.check()
            world.end()

    happens()


# what is expected can fail


def complaint(url: str, swaps: dict[str, str]) -> str:
    """What random drivers, and each script alone, find wrong; empty if nothing."""
    try:
        writes_one_by_one(url, swaps)
        for seed in range(80):
            happens_by_chance(World(url, 1 + 2 * (seed % 2), swaps), Random(seed))
    except (AssertionError, HeadraceError, ResponseError, KeyError) as found:
        return f"{found!r}"
    return ""


def happens_by_chance(world: World, chance: Random) -> None:
    with world.hr:
        for _ in range(70):
            what = chance.choice(HAPPENS)
            about = [chance.choice([1, 2, 3600, DAY]) if what == "wait" else chance.randrange(1000)]
            about += [chance.randrange(5)] if what == "begin" else []
            getattr(world, what)(*about)
            world.check()
        world.end()


def test_without_a_fault_there_is_no_complaint(valkey_url: str) -> None:
    assert complaint(valkey_url, {}) == ""


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled(WRITE_FAULTS))
def test_a_planted_fault_is_caught(valkey_url: str, fault: Fault) -> None:
    assert complaint(valkey_url, fault.swaps()) != ""


# every point


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("which", [0, 1], ids=["a write", "a batch of a stream"])
def test_a_driver_may_die_between_any_two_calls(valkey_url: str, which: int, shards: int) -> None:
    for calls in range(1, 40):
        world = World(valkey_url, shards)
        with world.hr:
            world.begin(which, 5)
            for _ in range(calls):
                world.step(0)
            died = world.drivers[0].operation is not None
            world.crash(0)
            world.begin(which, 5)
            for _ in range(40):
                world.step(0)
            assert world.drivers[1].committed
            world.end()
        if not died:
            return
    raise AssertionError("it came to no end")
