"""Random drivers: each row of a committed write becomes one job, and no other row does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.writes.drivers import DAY, World
from tests.support.effort import examples

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
def test_each_row_of_a_committed_write_becomes_one_job(private_url: str, shards: int) -> None:
    @examples(60)
    @given(st.lists(STEPS, min_size=5, max_size=60))
    def happens(steps: list[tuple[str, int] | tuple[str, int, int]]) -> None:
        world = World(private_url, shards)
        with world.hr:
            for what, *about in steps:
                getattr(world, what)(*about)
                world.check()
            world.end()

    happens()


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("which", [0, 1], ids=["a write", "a batch of a stream"])
def test_driver_may_die_between_any_two_calls(private_url: str, which: int, shards: int) -> None:
    for calls in range(1, 40):
        world = World(private_url, shards)
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
    raise AssertionError("the driver does not finish")
