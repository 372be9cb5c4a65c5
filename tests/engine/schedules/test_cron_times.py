"""The scripts find the same times as a definition in plain Python and as the package cronsim.

cronsim differs in two cases, which the tests exclude. It reads `5-5/2` as `5/2`, which continues
to the end of the range. In a zone whose clocks change by half an hour (Lord Howe), it finds times
at half past instead of at the full hour.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st
from redis import Redis

from headrace import InvalidArgument
from headrace.engine.cron import offsets, parse
from headrace.engine.timestamps import moment
from tests.engine.support.cron_times import by_definition, ms_of, script, times
from tests.proof import proves

LORD_HOWE = "Australia/Lord_Howe"
ZONES = [
    "Europe/Berlin",
    "America/New_York",
    LORD_HOWE,
    "Africa/Casablanca",
    "UTC",
    "Asia/Kathmandu",
]
FIRST, LAST = datetime(2024, 1, 1, tzinfo=UTC), datetime(2045, 1, 1, tzinfo=UTC)
# The scripts know the clock changes of a zone for at least this long after a timestamp.
FAR = timedelta(days=17 * 365)


def terms(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    step = st.integers(1, most)
    span = st.tuples(number, number).filter(lambda ends: ends[0] < ends[1])
    return st.one_of(
        number.map(str),
        number.map(str),
        span.map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.tuples(span, step).map(lambda drawn: f"{drawn[0][0]}-{drawn[0][1]}/{drawn[1]}"),
        st.tuples(number, step).map(lambda drawn: f"{drawn[0]}/{drawn[1]}"),
    )


def fields(least: int, most: int, *, stars: int) -> st.SearchStrategy[str]:
    """Return cron fields. `stars` of ten fields begin with a star, the others restrict the time."""
    lists = st.lists(terms(least, most), min_size=1, max_size=3).map(",".join)
    free = st.one_of(st.just("*"), st.just("*"), st.integers(1, most).map(lambda n: f"*/{n}"))
    return st.integers(0, 9).flatmap(lambda drawn: free if drawn < stars else lists)


def expressions(*, days: int) -> st.SearchStrategy[str]:
    parts = st.tuples(
        fields(0, 59, stars=3),
        fields(0, 23, stars=4),
        fields(1, 31, stars=days),
        fields(1, 12, stars=days),
        fields(0, 7, stars=days),
    )
    return parts.map(" ".join).filter(comes)


def comes(expression: str) -> bool:
    try:
        parse(expression)
    except InvalidArgument:
        return False
    return True


@st.composite
def moments(draw: st.DrawFn, zone: str) -> datetime:
    """Return a timestamp, mostly near a clock change."""
    changes = offsets(ZoneInfo(zone), ms_of(FIRST))[2::2]
    second = draw(st.integers(ms_of(FIRST) // 1000, ms_of(LAST) // 1000))
    near = draw(st.integers(0, 2)) > 0
    if changes and near:
        second = draw(st.sampled_from(changes)) + 60 * draw(st.integers(-180, 180))
    return moment(second * 1000) + draw(st.sampled_from([timedelta(0), timedelta(milliseconds=1)]))


@st.composite
def questions(draw: st.DrawFn, *, days: int) -> tuple[str, str, datetime]:
    zone = draw(st.sampled_from(ZONES))
    return draw(expressions(days=days)), zone, draw(moments(zone))


@pytest.fixture(scope="module")
def cron_server(valkey_url: str) -> Iterator[Redis]:
    with Redis.from_url(valkey_url) as client:
        yield client


TEXT = script()


@proves("QL-12")
@settings(max_examples=150, deadline=None)
@given(question=questions(days=8))
def test_times_match_the_definition(
    cron_server: Redis, question: tuple[str, str, datetime]
) -> None:
    expression, zone, at = question
    window = timedelta(hours=30)
    expected = list(by_definition(expression, zone, at - window, at + window))

    after, before = times(cron_server, TEXT, expression, zone, at, 40)

    wanted = [one for one in expected if one > at][:40]
    assert [one for one in after if one <= at + window] == wanted
    wanted = [one for one in reversed(expected) if one <= at][:40]
    assert [one for one in before if one >= at - window] == wanted


def as_cronsim(expression: str, zone: str, at: datetime, count: int) -> list[datetime]:
    """Return the next times from cronsim, without the times before `at`.

    In an hour that occurs twice, cronsim also returns times that have already passed.
    """
    found: list[datetime] = []
    for local in CronSim(expression, at.astimezone(ZoneInfo(zone))):
        here = local.astimezone(UTC)
        if len(found) == count or here > at + FAR:
            break
        if here > at:
            found.append(here)
    return found


@proves("QL-12")
@settings(max_examples=250, deadline=None)
@given(question=questions(days=4))
def test_times_match_another_implementation(
    cron_server: Redis, question: tuple[str, str, datetime]
) -> None:
    expression, zone, at = question
    rule = parse(expression)
    # On Lord Howe, clocks change by half an hour, and cronsim skips or repeats some minutes.
    if zone == LORD_HOWE and not rule.fixed and len(rule.hours) * len(rule.minutes) < 24 * 60:
        zone = "Europe/Berlin"

    after, before = times(cron_server, TEXT, expression, zone, at, 4)

    assert [one for one in after if one <= at + FAR] == as_cronsim(expression, zone, at, 4)
    if before[-1] > at - timedelta(days=690):
        again, _ = times(
            cron_server, TEXT, expression, zone, before[-1] - timedelta(milliseconds=1), 8
        )
        assert again == before[::-1] + after


def local(cron_server: Redis, expression: str, zone: str, at: str, count: int) -> list[str]:
    start = datetime.fromisoformat(at).replace(tzinfo=ZoneInfo(zone))
    after, _ = times(cron_server, TEXT, expression, zone, start.astimezone(UTC), count)
    return [f"{one.astimezone(ZoneInfo(zone)):%d %H:%M %z}" for one in after]


@proves("QL-12")
@pytest.mark.parametrize(
    ("expression", "at", "expected"),
    [
        ("30 2 * * *", "2026-03-28 12:00", ["29 03:00 +0200", "30 02:30 +0200"]),
        ("0,30 2,3 * * *", "2026-03-28 12:00", ["29 03:00 +0200", "29 03:30 +0200"]),
        ("30 2 * * *", "2026-10-24 12:00", ["25 02:30 +0200", "26 02:30 +0100"]),
        ("*/30 2 * * *", "2026-03-28 12:00", ["30 02:00 +0200", "30 02:30 +0200"]),
        ("*/30 2 * * *", "2026-10-25 02:15", ["25 02:30 +0200", "25 02:00 +0100"]),
        ("0 * * * *", "2026-03-29 01:00", ["29 03:00 +0200", "29 04:00 +0200"]),
        ("0 * * * *", "2026-10-25 02:00", ["25 02:00 +0100", "25 03:00 +0100"]),
    ],
)
def test_runs_around_clock_changes(
    cron_server: Redis, expression: str, at: str, expected: list[str]
) -> None:
    assert local(cron_server, expression, "Europe/Berlin", at, 2) == expected


def test_deliberate_differences_from_cronsim(cron_server: Redis) -> None:
    for expression, expected in [
        ("5-5/20 * * * *", ["01 00:05 +1100", "01 01:05 +1100"]),
        ("5/20 * * * *", ["01 00:05 +1100", "01 00:25 +1100"]),
    ]:
        assert local(cron_server, expression, LORD_HOWE, "2026-01-01 00:00", 2) == expected
    assert local(cron_server, "* 7 * * *", LORD_HOWE, "2026-04-05 01:00", 1) == ["05 07:00 +1030"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 29 2 *", ["2096-02-29", "2104-02-29"]),
        ("0 0 29 2 */7", ["2128-02-29", "2156-02-29"]),
        ("0 0 31 * *", ["2096-01-31", "2096-03-31"]),
        ("0 0 13 * fri", ["2096-01-06", "2096-01-13"]),
        ("0 0 13 * */5", ["2096-01-13", "2096-04-13"]),
        ("0 0 */10 12 *", ["2096-12-01", "2096-12-11"]),
    ],
)
def test_rare_times_are_found(cron_server: Redis, expression: str, expected: list[str]) -> None:
    start = datetime(2095, 12, 31, 12, tzinfo=UTC)

    after, _ = times(cron_server, TEXT, expression, "UTC", start, 2)

    assert [f"{one:%Y-%m-%d}" for one in after] == expected
