"""The scripts of schedules do what the model does, and the checks catch every planted fault."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import starmap

from redis import Redis

from tests.engine.support.cron_times import by_definition, script, times
from tests.model.harness import Swaps, planted
from tests.model.schedules.faults import FAULTS
from tests.model.schedules.walks import WALKS, walk

WEEK = timedelta(days=7)
# Rules, each with a zone and a start time near which a wrong implementation is likely to fail.
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


def cron_times_are_right(url: str, swaps: Swaps) -> None:
    """Raise unless the script finds the same times as the definition, forwards and backwards."""
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


test_scripts_without_a_fault_pass, test_planted_fault_is_caught = planted(
    FAULTS,
    [*starmap(walk, WALKS)],
    [cron_times_are_right],
    both_paths=True,
    also_raised=(KeyError, ValueError),
)
