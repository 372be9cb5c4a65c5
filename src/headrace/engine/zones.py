"""Time zones: from when on which offset from UTC holds, as scripts read it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.engine.check import shown
from headrace.errors import InvalidArgument

# Zones change with politics; whoever edits a schedule brings them up to date.
YEARS = 20
DAY = 86_400
# No zone changes twice in it.
WEEK = 7 * DAY


def zone_of(name: object) -> ZoneInfo:
    """The time zone of a name such as Europe/Berlin."""
    try:
        return ZoneInfo(name)  # type: ignore[arg-type]  # whatever it is, it is refused
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise InvalidArgument(
            f"zone must be the name of a time zone, as 'Europe/Berlin' or 'UTC', not {shown(name)}"
        ) from None


def offsets(zone: ZoneInfo, ms: float) -> tuple[int, ...]:
    """The offset in force on the day of a moment, and those that follow for so many years: since
    when, and how much, in seconds.
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
    """The first second of the other offset."""
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(zone, middle) == _offset(zone, before):
            before = middle
        else:
            after = middle
    return after


def _offset(zone: ZoneInfo, seconds: int) -> int:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    offset = moment.astimezone(zone).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())
