"""The walks are worth something: each of many faults in the scripts of feeds is caught on them."""

from __future__ import annotations

import pytest
from redis.exceptions import ResponseError

from headrace import HeadraceError
from tests.model.feeds.faults import FAULTS
from tests.model.feeds.twin import feed_twin
from tests.model.feeds.walks import WALKS
from tests.model.jobs.faults import Fault
from tests.support.effort import sampled

COMPLAINTS = (AssertionError, pytest.fail.Exception, HeadraceError, ResponseError, ValueError)


def complaint(url: str, swaps: dict[str, str]) -> str:
    """What the walks find; empty if nothing."""
    for way in WALKS:
        try:
            with feed_twin(url, swaps) as twin:
                way(twin)
        except COMPLAINTS as found:
            return f"{way.__name__}: {found!r}"
    return ""


def test_without_a_fault_there_is_no_complaint(valkey_url: str) -> None:
    assert complaint(valkey_url, {}) == ""


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled(FAULTS))
def test_a_planted_fault_is_caught(valkey_url: str, fault: Fault) -> None:
    assert complaint(valkey_url, fault.swaps()) != ""
