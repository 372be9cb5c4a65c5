"""The waits between the attempts of a job."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import Backoff, InvalidArgument


@given(
    st.integers(1, 10_000),
    st.floats(0, 1e6),
    st.floats(0, 100),
    st.floats(0, 1e6),
    st.floats(0, 1),
)
def test_wait_is_between_zero_and_the_longest_one(
    retry: int, first: float, factor: float, most: float, jitter: float
) -> None:
    wait = Backoff(first, factor, most, jitter).seconds(retry)

    assert 0 <= wait <= most


def test_waits_grow_up_to_the_longest_one() -> None:
    backoff = Backoff(first=1, factor=3, most=20, jitter=0)

    assert [backoff.seconds(retry) for retry in range(1, 6)] == [1, 3, 9, 20, 20]


@pytest.mark.parametrize("wrong", [{"first": -1}, {"jitter": 1.5}, {"factor": "2"}, {"most": True}])
def test_invalid_values_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        Backoff(**wrong)
