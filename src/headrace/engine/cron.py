"""Cron expressions and time zones, parsed into the form that the scripts need.

A schedule is parsed once, when it is set. The expression becomes sets of numbers. The time zone
becomes a list of UTC offsets, because the server's Lua has no time zone database.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.engine.call import pack
from headrace.engine.check import shown
from headrace.engine.timestamps import DAY
from headrace.errors import InvalidArgument

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

# A schedule stores UTC offsets for YEARS years. Setting the schedule again updates the offsets, in
# case the rules of its time zone have changed.
YEARS = 20
# No time zone changes its offset twice within a week.
WEEK = 7 * DAY


@dataclass(frozen=True, slots=True)
class Field:
    """One of the five fields of a cron expression: its range, and names for its numbers."""

    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()

    def allowed(self) -> str:
        """Return the allowed values, for an error message."""
        words = f"{self.least} to {self.most}"
        return f"{words} or {self.names[0]} to {self.names[-1]}" if self.names else words


FIELDS = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of month", 1, 31),
    Field("month", 1, 12, MONTHS),
    Field("day of week", 0, 7, WEEKDAYS),
)


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression as sets of numbers.

    With `either`, a day matches if the day of the month or the day of the week matches. With
    `fixed`, runs follow local wall-clock time when the UTC offset changes. Without `fixed`, runs
    follow elapsed time.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    fixed: bool

    def packed(self) -> bytes:
        """Pack the expression for the scripts.

        Each set becomes a string in which character n is 1 if the set contains n, else 0.
        """
        sets = (self.minutes, self.hours, self.days, self.months, self.weekdays)
        sizes = (60, 24, 32, 13, 7)
        texts = [
            "".join("1" if number in numbers else "0" for number in range(size))
            for numbers, size in zip(sets, sizes, strict=True)
        ]
        return pack([*texts, self.either, self.fixed])


def parse(expression: object) -> Cron:
    """Parse a cron expression by the rules of Debian's cron, or raise InvalidArgument."""
    if not isinstance(expression, str):
        raise InvalidArgument(f"cron must be a str, not {type(expression).__name__}")
    parts = MACROS.get(expression.strip().lower(), expression).lower().split()
    if len(parts) != len(FIELDS):
        raise InvalidArgument(
            f"cron must have five fields (minute, hour, day of month, month, day of week) or be "
            f"{', '.join(MACROS)}, not {shown(expression)}"
        )
    minutes, hours, days, months, weekdays = map(_numbers, FIELDS, parts)
    minute, hour, day, _, weekday = (part.startswith("*") for part in parts)
    found = Cron(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(number % 7 for number in weekdays),
        either=not day and not weekday,
        fixed=not minute and not hour,
    )
    if not found.either and min(days) > max(LONGEST_MONTH[month - 1] for month in months):
        raise InvalidArgument(
            f"cron {expression!r} never runs: its days do not exist in its months"
        )
    return found


def _numbers(field: Field, part: str) -> frozenset[int]:
    found: set[int] = set()
    for term in part.split(","):
        values, slash, step = term.partition("/")
        first, last = _range(field, values, open_ended=bool(slash))
        found |= set(range(first, last + 1, _step(field, step) if slash else 1))
    return frozenset(found)


def _range(field: Field, text: str, *, open_ended: bool) -> tuple[int, int]:
    if text == "*":
        return field.least, field.most
    first, dash, last = text.partition("-")
    begins = _number(field, first)
    if not dash:
        return begins, field.most if open_ended else begins
    ends = _number(field, last)
    if ends < begins:
        raise InvalidArgument(
            f"cron: {field.name} {text!r} must be in ascending order; write two ranges instead"
        )
    return begins, ends


def _number(field: Field, word: str) -> int:
    if word in field.names:
        return field.names.index(word) + field.least
    found = _whole(word)
    if field.least <= found <= field.most:
        return found
    raise InvalidArgument(f"cron: {field.name} must be {field.allowed()}, not {shown(word)}")


def _step(field: Field, word: str) -> int:
    found = _whole(word)
    if found > 0:
        return found
    raise InvalidArgument(
        f"cron: the step of {field.name} must be a number above 0, not {shown(word)}"
    )


def _whole(word: str) -> int:
    """Return the value of a string of at most 9 ASCII digits, or -1 for any other string."""
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 10 else -1


def zone_of(name: object) -> ZoneInfo:
    """Return the time zone with a name such as Europe/Berlin, or raise InvalidArgument."""
    try:
        return ZoneInfo(name)  # type: ignore[arg-type]  # a wrong type is refused below
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise InvalidArgument(
            "zone must be the name of a time zone, such as 'Europe/Berlin' or 'UTC', "
            f"not {shown(name)}"
        ) from None


def offsets(zone: ZoneInfo, ms: float) -> tuple[int, ...]:
    """Return the UTC offsets of a zone for 20 years, starting at the day of a timestamp.

    The result contains pairs of numbers: the timestamp in seconds at which an offset begins, and
    the offset in seconds.
    """
    return _offsets(zone, int(ms // 1000 // DAY))


@lru_cache(maxsize=256)
def _offsets(zone: ZoneInfo, day: int) -> tuple[int, ...]:
    start = day * DAY
    found = [start, _offset(zone, start)]
    for before in range(start, start + YEARS * 366 * DAY, WEEK):
        if _offset(zone, before + WEEK) != found[-1]:
            changed = _change(zone, before, before + WEEK)
            found += [changed, _offset(zone, changed)]
    return tuple(found)


def _change(zone: ZoneInfo, before: int, after: int) -> int:
    """Return the timestamp, between two timestamps, at which the UTC offset changes."""
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(zone, middle) == _offset(zone, before):
            before = middle
        else:
            after = middle
    return after


def _offset(zone: ZoneInfo, seconds: int) -> int:
    timestamp = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    offset = timestamp.astimezone(zone).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())
