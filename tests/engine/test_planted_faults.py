"""The checks are worth something: each of many faults in the scripts is caught by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from redis.exceptions import ResponseError

from headrace import HeadraceError
from tests.effort import sampled
from tests.engine.adopting import what_comes_from_elsewhere
from tests.engine.breakage import BREAKAGES, unnoticed
from tests.engine.coming import what_comes_is_told
from tests.engine.error_texts import errors_are_kept
from tests.engine.faults import FAULTS, Fault
from tests.engine.handing import handing_over
from tests.engine.matches import matching_in_steps
from tests.engine.putting_one import one_at_a_time
from tests.engine.sifting import bulk_is_exact
from tests.engine.telling import log_tells_what_is_counted
from tests.engine.tie_faults import TIES
from tests.engine.tie_walks import TIE_WALKS
from tests.engine.tour import Tour, walk
from tests.engine.trimming import marks_are_of_the_log, trimming_by_proof
from tests.engine.twin import opened
from tests.engine.walking import jobs_are_walked_through
from tests.engine.walks import WALKS

Way = Callable[[Tour], None]

# How a check complains; the last is pytest.raises, when nothing was raised.
SIGNS = (AssertionError, HeadraceError, ResponseError, pytest.fail.Exception)

# What the walks do not come to: each raises if the scripts with these swaps go wrong.
CHECKS = [
    matching_in_steps,
    errors_are_kept,
    bulk_is_exact,
    jobs_are_walked_through,
    what_comes_is_told,
    handing_over,
    one_at_a_time,
    trimming_by_proof,
    marks_are_of_the_log,
    log_tells_what_is_counted,
    what_comes_from_elsewhere,
]


def complaint(url: str, swaps: dict[str, str], ways: Sequence[Way] = WALKS) -> str:
    """What the checks of test_walks and test_audit find; empty if nothing."""
    for way in ways:
        try:
            walk(url, way, swaps)
        except SIGNS as found:
            return f"{way.__name__}: {found!r}"
    for check in CHECKS:
        try:
            check(url, swaps)
        except SIGNS as found:
            return f"{check.__name__}: {found!r}"
    for breakage in BREAKAGES:
        client, clock = opened(url, swaps)
        with client:
            if found_nothing := unnoticed(client, clock, breakage):
                return found_nothing
    return ""


def test_without_a_fault_there_is_no_complaint(valkey_url: str) -> None:
    assert complaint(valkey_url, {}) == ""


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled(FAULTS))
def test_a_planted_fault_is_caught(valkey_url: str, fault: Fault) -> None:
    assert complaint(valkey_url, fault.swaps()) != ""


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled(TIES))
def test_a_planted_fault_in_ties_is_caught(valkey_url: str, fault: Fault) -> None:
    assert complaint(valkey_url, fault.swaps(), TIE_WALKS) != ""
