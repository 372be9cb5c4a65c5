"""The walks are worth something: each of many faults in the scripts of feeds is caught on them."""

from __future__ import annotations

import pytest
from redis.exceptions import ResponseError

from headrace import HeadraceError
from tests.effort import sampled
from tests.engine.faults import Fault
from tests.feeds.faults import FAULTS
from tests.feeds.twin import feed_twin
from tests.feeds.walks import WALKS

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
