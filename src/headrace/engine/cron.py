"""Cron expressions: read once, here, into what the scripts need to find the next time."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.engine.call import pack
from headrace.engine.check import shown
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


@dataclass(frozen=True, slots=True)
class Field:
    """One of the five fields: which numbers it may have, and the names that stand for some."""

    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()

    def allowed(self) -> str:
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
    """An expression as sets of numbers.

    With `either` a day need only fit one of the two fields for days; with `fixed` the times are
    those of the clock on the wall, otherwise of real time.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    fixed: bool

    def packed(self) -> bytes:
        """As the scripts read it: for each set a text that has a 1 at the place of each number."""
        sets = (self.minutes, self.hours, self.days, self.months, self.weekdays)
        sizes = (60, 24, 32, 13, 7)
        texts = [
            "".join("1" if number in numbers else "0" for number in range(size))
            for numbers, size in zip(sets, sizes, strict=True)
        ]
        return pack([*texts, self.either, self.fixed])


def parse(expression: object) -> Cron:
    """Reads an expression; the rules are those of Debian's cron."""
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
        raise InvalidArgument(f"cron {expression!r} never comes: no such month is so long")
    return found


def _numbers(field: Field, part: str) -> frozenset[int]:
    found: set[int] = set()
    for term in part.split(","):
        span, slash, step = term.partition("/")
        first, last = _span(field, span, open_ended=bool(slash))
        found |= set(range(first, last + 1, _step(field, step) if slash else 1))
    return frozenset(found)


def _span(field: Field, span: str, *, open_ended: bool) -> tuple[int, int]:
    if span == "*":
        return field.least, field.most
    first, dash, last = span.partition("-")
    begins = _number(field, first)
    if not dash:
        return begins, field.most if open_ended else begins
    ends = _number(field, last)
    if ends < begins:
        raise InvalidArgument(f"cron: {field.name} {span!r} must count up; write it as two spans")
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
    raise InvalidArgument(f"cron: a step of {field.name} is a number above 0, not {shown(word)}")


def _whole(word: str) -> int:
    """The number that a word is, or -1; isdecimal alone lets the digits of other scripts pass."""
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 10 else -1
