"""The times of cron rules: found by the scripts, and found by trying every minute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from redis import Redis

from headrace.engine.call import pack
from headrace.engine.compose import compose
from headrace.engine.cron import Cron, offsets, parse
from headrace.engine.source import source
from headrace.engine.timestamps import EPOCH, moment

MINUTE = timedelta(minutes=1)
# The table of UTC offsets starts this long before the given time.
LOOKS_BACK = timedelta(days=700)
# The library of the operation, and the libraries that the composer itself needs.
FILES = ("cron", "keys", "contact", "now")

TIMES = source(
    "ops/times",
    """-- times: the times after a moment, and those up to it.
--
-- args   rule zone from:int count:int
-- uses   cron

local read = read_rule(rule, zone)
local after, before = {}, {}
local at = from
for i = 1, count do
  at = time_after(read, at)
  after[i] = at
end
at = from
for i = 1, count do
  at = time_until(read, at)
  before[i] = at
  at = at - 1
end
return { after, before }
""",
)


def script(swaps: dict[str, str] | None = None) -> str:
    """Return the text of a script that finds times, with swapped files if a fault is planted."""
    files = {name: source(f"lib/{name}", (swaps or {}).get(name)) for name in FILES}
    return f"local function_prefix\n{compose(files, {'times': TIMES})}"


def ms_of(at: datetime) -> int:
    return (at - EPOCH) // timedelta(milliseconds=1)


def times(
    server: Redis, text: str, expression: str, zone: str, at: datetime, count: int
) -> tuple[list[datetime], list[datetime]]:
    """Return `count` times after a timestamp, and `count` at or before it, newest first."""
    table = pack(offsets(ZoneInfo(zone), ms_of(at - LOOKS_BACK)))
    rule = parse(expression).packed()
    reply: Any = server.eval(text, 1, "", "0", rule, table, str(ms_of(at)), str(count), "times")
    return [moment(found) for found in reply[0]], [moment(found) for found in reply[1]]


def by_definition(
    expression: str, zone: str, first: datetime, last: datetime
) -> Iterator[datetime]:
    """Return every time between two timestamps by trying every minute."""
    rule, there = parse(expression), ZoneInfo(zone)
    found = (
        _on_the_wall(rule, there, first, last) if rule.fixed else _real(rule, there, first, last)
    )
    return (at for at in found if first <= at <= last)


def _real(rule: Cron, zone: ZoneInfo, first: datetime, last: datetime) -> Iterator[datetime]:
    at = first.replace(second=0, microsecond=0)
    while at <= last:
        if fits(rule, at.astimezone(zone)):
            yield at
        at += MINUTE


def _on_the_wall(rule: Cron, zone: ZoneInfo, first: datetime, last: datetime) -> Iterator[datetime]:
    wall = (first - timedelta(hours=15)).replace(tzinfo=None, second=0, microsecond=0)
    end = (last + timedelta(hours=15)).replace(tzinfo=None)
    seen: set[datetime] = set()
    while wall <= end:
        if fits(rule, wall):
            at = _first_real(wall, zone)
            if at not in seen:
                seen.add(at)
                yield at
        wall += MINUTE


def _first_real(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return when a wall clock first shows this time, or the end of a gap that skips it."""
    while True:
        at = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
        if at.astimezone(zone).replace(tzinfo=None) == wall:
            return at
        wall += MINUTE


def fits(rule: Cron, wall: datetime) -> bool:
    """Return whether a rule matches the time of a wall clock and the date of a calendar."""
    on_date, on_weekday = wall.day in rule.days, wall.isoweekday() % 7 in rule.weekdays
    return (
        wall.minute in rule.minutes
        and wall.hour in rule.hours
        and wall.month in rule.months
        and ((on_date or on_weekday) if rule.either else (on_date and on_weekday))
    )
