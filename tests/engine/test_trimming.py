"""The log is trimmed only when all lakes have the events, in any order of steps."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.testing import open_with_clock
from tests.model.jobs.checks.log_trimming import (
    Ledger,
    log_is_trimmed_by_marks,
    marks_belong_to_the_log,
)
from tests.support.effort import EFFORT

LAKES = st.sampled_from("ab")
STEPS = st.one_of(
    st.tuples(st.just("put"), st.integers(1, 1200)),
    st.tuples(st.just("tick"), st.sampled_from([0, 1, 30, 61])),
    st.tuples(st.just("mark"), LAKES, st.floats(0, 1)),
    st.tuples(st.just("mark"), LAKES, st.sampled_from([0.0, 1.0])),
    st.tuples(st.just("forget"), LAKES),
    st.tuples(st.just("limit"), st.just("events_count"), st.integers(1, 1000)),
    st.tuples(st.just("limit"), st.just("events_cap"), st.integers(1, 2000)),
    st.tuples(st.just("limit"), st.just("events_age"), st.sampled_from([1, 60, 10**6])),
)


@settings(max_examples=25 * EFFORT, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(steps=st.lists(STEPS, min_size=4, max_size=20))
def test_events_that_a_lake_lacks_are_only_dropped_by_the_cap_and_counted(
    valkey_url: str, steps: list[tuple[Any, ...]]
) -> None:
    hr, clock = open_with_clock(valkey_url)
    with hr:
        ledger = Ledger(hr, clock)
        for name, *words in steps:
            getattr(ledger, name)(*words)
        ledger.check_size()


def test_log_is_trimmed_only_after_lakes_have_read_it(url: str) -> None:
    log_is_trimmed_by_marks(url, {})


def test_mark_of_another_log_is_refused(url: str) -> None:
    marks_belong_to_the_log(url, {})
