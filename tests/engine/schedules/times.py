"""The times of cron rules, as the scripts find them, without a schedule around them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from redis import Redis

from headrace.engine.call import pack
from headrace.engine.compose import Composer
from headrace.engine.cron import parse
from headrace.engine.moments import EPOCH, moment
from headrace.engine.source import Source, parsed, source
from headrace.engine.zones import offsets

TIMES = """-- times: the times after a moment, and those up to it.
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
"""


def script(swaps: dict[str, str] | None = None) -> str:
    """The text of a script that tells times, with lib files swapped where a fault is planted."""

    def source_of(name: str) -> Source:
        if name == "ops/times":
            return parsed(name, TIMES)
        swapped = (swaps or {}).get(name.removeprefix("lib/"))
        return source(name) if swapped is None else parsed(name, swapped)

    return "\n".join(line for line, _ in Composer(source_of).compose("times"))


def times(
    server: Redis, text: str, expression: str, zone: str, start: datetime, count: int
) -> tuple[list[datetime], list[datetime]]:
    """So many times after a moment, and so many at it or before it, newest first."""
    ms = round((start - EPOCH).total_seconds() * 1000)
    # The table reaches back far enough for those before.
    table = pack(offsets(ZoneInfo(zone), ms - 3 * 366 * 86_400_000))
    reply: Any = server.eval(text, 1, "", "0", parse(expression).packed(), table, str(ms), str(count))
    after, before = reply
    return [moment(at) for at in after], [moment(at) for at in before]


def by_definition(expression: str, zone: str, first: datetime, last: datetime) -> Iterator[datetime]:
    """Every time from one moment to another, found by trying every minute."""
