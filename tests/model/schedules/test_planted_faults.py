"""The checks of schedules are worth something: each of many faults is caught by them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from redis import Redis
from redis.exceptions import ResponseError

from headrace import HeadraceError
from tests.engine.support.cron_times import by_definition, script, times
from tests.model.jobs.faults import Fault
from tests.model.jobs.twin import LONG_WAY
from tests.model.schedules.faults import FAULTS
from tests.model.schedules.twin import Pair
from tests.model.schedules.walks import WALKS
from tests.support.effort import sampled

WEEK = timedelta(days=7)
# Each around a moment at which it is hard to be right.
QUESTIONS = [
    ("30 2 * * *", "Europe/Berlin", "2026-03-29T00:30"),
    ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:45"),
    ("0,30 2,3 * * *", "Europe/Berlin", "2026-03-29T01:00"),
    ("*/30 * * * *", "Europe/Berlin", "2026-10-25T01:00"),
    ("*/20 1-3 * * *", "Australia/Lord_Howe", "2026-04-04T15:00"),
    ("10 23 28,29 2 *", "UTC", "2028-02-27T00:00"),
    ("59 0,23 1,31 * wed", "Asia/Kathmandu", "2026-02-27T00:00"),
    ("59 1 * * *", "Europe/Berlin", "2026-03-29T01:10"),
    ("15 5 1 4 *", "UTC", "2026-03-28T00:00"),
    ("0 12 * 3 1-5", "UTC", "2026-02-27T00:00"),
]


def complaint(url: str, swaps: dict[str, str]) -> str:
    """What the checks find; empty if nothing."""
    try:
        answer_questions(url, swaps)
        for start, way in WALKS:
            for more in ({}, LONG_WAY):
                pair = Pair(url, start, {**swaps, **more})
                with pair.hr:
                    way(pair)
    except (AssertionError, ValueError, KeyError, HeadraceError, ResponseError) as found:
        return repr(found)
    return ""


def answer_questions(url: str, swaps: dict[str, str]) -> None:
    text = script(swaps)
    with Redis.from_url(url) as server:
        for expression, zone, where in QUESTIONS:
            at = datetime.fromisoformat(f"{where}+00:00")
            expected = list(by_definition(expression, zone, at - WEEK, at + WEEK))
            after, before = times(server, text, expression, zone, at, 8)
            later = [one for one in expected if one > at][:8]
            assert [one for one in after if one <= at + WEEK] == later
            sooner = [one for one in reversed(expected) if one <= at][:8]
            assert [one for one in before if one >= at - WEEK] == sooner


def test_without_a_fault_there_is_no_complaint(valkey_url: str) -> None:
    assert complaint(valkey_url, {}) == ""


@pytest.mark.slow
@pytest.mark.parametrize("fault", sampled(FAULTS))
def test_a_planted_fault_is_caught(valkey_url: str, fault: Fault) -> None:
    assert complaint(valkey_url, fault.swaps()) != ""
