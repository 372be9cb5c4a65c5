"""The checks are worth something: each of many faults in the scripts is caught by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from redis.exceptions import ResponseError

from headrace import HeadraceError
from tests.model.corruptions import BREAKAGES, unnoticed
from tests.model.jobs.checks.bulk_failures import bulk_is_exact
from tests.model.jobs.checks.due_notices import what_comes_is_told
from tests.model.jobs.checks.event_counts import log_tells_what_is_counted
from tests.model.jobs.checks.failure_texts import errors_are_kept
from tests.model.jobs.checks.hand_over import handing_over
from tests.model.jobs.checks.imported_jobs import what_comes_from_elsewhere
from tests.model.jobs.checks.job_pages import jobs_are_walked_through
from tests.model.jobs.checks.log_trimming import marks_are_of_the_log, trimming_by_proof
from tests.model.jobs.checks.matching import matching_in_steps
from tests.model.jobs.checks.put_one import one_at_a_time
from tests.model.jobs.faults import FAULTS, Fault
from tests.model.jobs.tag_faults import TIES
from tests.model.jobs.tag_walks import TIE_WALKS
from tests.model.jobs.tour import Tour, walk
from tests.model.jobs.twin import opened
from tests.model.jobs.walks import WALKS
from tests.support.effort import sampled

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
