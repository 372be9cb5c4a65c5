"""Random outages, and planted faults that the walks must catch."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.model.harness import planted
from tests.model.outages.faults import FAULTS
from tests.model.outages.twin import OutageTwin
from tests.model.outages.walks import WALKS
from tests.proof import proves
from tests.support.effort import examples

WORKERS = st.sampled_from(["a", "b", "c"])
STEPS = st.one_of(
    st.tuples(st.just("start"), WORKERS, st.sampled_from([1000, 3000, 30_000])),
    st.tuples(st.just("renew"), WORKERS),
    st.tuples(st.just("renew"), WORKERS),
    st.tuples(st.sampled_from(["sweep", "put", "restart"])),
    st.tuples(
        st.just("tick"), st.sampled_from([1, 249, 250, 600, 601, 1000, 1801, 3000, 5000, 15_000])
    ),
)

test_scripts_without_a_fault_pass, test_planted_fault_is_caught = planted(FAULTS, WALKS)


@proves("WL-07")
@examples(60)
@given(steps=st.lists(STEPS, max_size=25))
def test_random_outages_end_only_the_sessions_of_dead_workers(
    valkey_url: str, steps: list[Any]
) -> None:
    with OutageTwin(valkey_url) as twin:
        twin.run(*steps)
