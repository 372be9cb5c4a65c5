"""Jobs are found by their payload in bounded steps, although the queue changes between them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Client
from tests.model.harness import opened
from tests.model.jobs.checks.matching import DATA, STATES, Search, check, matching_works_in_steps
from tests.proof import proves

SEARCHES = st.builds(
    Search,
    st.lists(st.tuples(st.sampled_from(STATES), st.sampled_from([*DATA])), max_size=12),
    st.sampled_from([*DATA]),
    st.integers(1, 4),
    st.lists(
        st.tuples(st.sampled_from(["put", "cancel", "move", "fail"]), st.integers(0, 11)),
        max_size=6,
    ),
)


@pytest.fixture(scope="module")
def searcher(valkey_url: str) -> Iterator[Client]:
    client, _ = opened(valkey_url)
    with client:
        yield client


@proves("W-19")
@settings(max_examples=120, deadline=None)
@given(search=SEARCHES)
def test_changes_between_steps_cancel_no_other_job(searcher: Client, search: Search) -> None:
    check(searcher, search)


def test_a_search_goes_through_every_state_in_steps_of_any_size(valkey_url: str) -> None:
    matching_works_in_steps(valkey_url, {})
