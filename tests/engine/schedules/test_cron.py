"""Cron expressions and time zones are parsed as in Debian's cron, or refused with a reason."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from headrace import InvalidArgument
from headrace.engine.cron import MACROS, YEARS, Cron, offsets, parse, zone_of

YEAR = 366 * 86_400


@pytest.mark.parametrize(
    ("expression", "field", "numbers"),
    [
        ("0 * * * *", "minutes", {0}),
        ("*/20 * * * *", "minutes", {0, 20, 40}),
        ("5/20 * * * *", "minutes", {5, 25, 45}),
        ("1-5,50 * * * *", "minutes", {1, 2, 3, 4, 5, 50}),
        ("0 8-16/4,23 * * *", "hours", {8, 12, 16, 23}),
        ("0 0 1,15 * *", "days", {1, 15}),
        ("0 0 1 JAN,jun-Aug *", "months", {1, 6, 7, 8}),
        ("0 0 * * sun", "weekdays", {0}),
        ("0 0 * * 7", "weekdays", {0}),
        ("0 0 * * 5-7", "weekdays", {5, 6, 0}),
        ("0 0 * * mon-Fri", "weekdays", {1, 2, 3, 4, 5}),
        ("0 0 * * *", "weekdays", set(range(7))),
    ],
)
def test_a_field_is_read_as_numbers(expression: str, field: str, numbers: set[int]) -> None:
    assert getattr(parse(expression), field) == numbers


def test_every_number_of_a_free_field_counts() -> None:
    read = parse("* * * * *")

    assert read.minutes == set(range(60))
    assert read.hours == set(range(24))
    assert read.days == set(range(1, 32))
    assert read.months == set(range(1, 13))


@pytest.mark.parametrize(
    ("expression", "either", "fixed"),
    [
        ("0 0 13 * 5", True, True),
        ("0 0 13 * *", False, True),
        ("0 0 * * 5", False, True),
        ("0 0 */2 * 5", False, True),
        ("*/5 0 1 1 1", True, False),
        ("0 */2 1 1 *", False, False),
    ],
)
def test_a_field_that_begins_with_a_star_is_free(
    expression: str, either: object, fixed: object
) -> None:
    read = parse(expression)

    assert (read.either, read.fixed) == (either, fixed)


def test_macros_are_expressions() -> None:
    read: dict[str, Cron] = {name: parse(f" {name.upper()} ") for name in MACROS}

    assert read["@hourly"] == parse("0 * * * *")
    assert read["@weekly"] == parse("0 0 * * sun")
    assert read["@yearly"] == parse("0 0 1 jan *")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (
            "* * * *",
            r"five fields \(minute, hour, day of month, month, day of week\) or be @hourly",
        ),
        ("60 * * * *", "minute must be 0 to 59, not '60'"),
        ("* 1-24 * * *", "hour must be 0 to 23, not '24'"),
        ("* * mon * *", "day of month must be 1 to 31, not 'mon'"),
        ("* * * 0 *", "month must be 1 to 12 or jan to dec, not '0'"),
        ("* * * * 8", "day of week must be 0 to 7 or sun to sat, not '8'"),
        (
            "* * * * fri-mon",
            "day of week 'fri-mon' must be in ascending order",
        ),
        ("*/0 * * * *", "the step of minute must be a number above 0, not '0'"),
        ("* */x * * *", "the step of hour must be a number above 0, not 'x'"),
        ("0 0 31 feb,apr *", "never runs"),
        ("0 0 30 2 */2", "never runs"),
    ],
)
def test_error_names_the_field_and_the_allowed_values(expression: str, reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        parse(expression)


def test_rule_with_a_weekday_is_not_refused_for_its_date() -> None:
    assert parse("0 0 31 2 mon").either
    assert parse("0 0 29 2 *").days == {29}


def test_a_zone_has_its_offsets_for_the_coming_years() -> None:
    start = 1_767_225_600

    table = offsets(ZoneInfo("Europe/Berlin"), start * 1000 + 86_399_999)

    assert table[:6] == (start, 3600, 1_774_746_000, 7200, 1_792_890_000, 3600)
    assert len(table) == 2 * (2 * YEARS + 1)
    assert table[-2] - start > (YEARS - 1) * YEAR
    assert offsets(zone_of("UTC"), start * 1000) == (start, 0)
    assert offsets(zone_of("Asia/Kathmandu"), start * 1000) == (start, 20_700)
