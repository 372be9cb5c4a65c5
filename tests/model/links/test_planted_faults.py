"""The checks are worth something: each of many faults in the scripts is caught by them."""

from __future__ import annotations

import pytest
from redis.exceptions import ResponseError

from headrace import HeadraceError
from tests.model.corruptions import BREAKAGES, unnoticed
from tests.model.jobs.faults import Fault
from tests.model.jobs.twin import opened
from tests.model.links.faults import FAULTS
from tests.model.links.walks import CHECKS, WALKS, walk
from tests.support.effort import sampled

CAUGHT = (AssertionError, HeadraceError, ResponseError)


def complaint(url: str, swaps: dict[str, str]) -> str:
    """What the walks and the audit find; empty if nothing."""
    try:
        for way in WALKS:
            walk(url, way, swaps, slow=False)
        for check in CHECKS:
            check(url, swaps)
        for way in WALKS:
            walk(url, way, swaps, slow=True)
        return audited(url, swaps)
    except CAUGHT as found:
        return repr(found)


def audited(url: str, swaps: dict[str, str]) -> str:
    """Which breakage the audit does not notice; empty if none."""
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
