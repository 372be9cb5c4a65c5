"""Rates: so many in so much time, as users write them ('100/m', '5/10s') and as scripts do."""

from __future__ import annotations

import re

from headrace.engine.check import shown
from headrace.errors import InvalidArgument

UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
MOST = 10**9

_RATE = re.compile(r"(\d{1,10})/(\d{0,10})(ms|s|m|h|d)")


def rate_to_wire(what: str, value: object) -> str:
    """A rate as the server stores it: how many, in how many milliseconds."""
    found = _RATE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise InvalidArgument(
            f"{what} must be so many in a time, such as '10/s', '100/m' or '5/10s' "
            f"(ms, s, m, h, d), not {shown(value)}"
        )
    starts, span = int(found[1]), int(found[2] or 1) * UNITS[found[3]]
    if starts > MOST or not 0 < span <= 366 * UNITS["d"]:
        raise InvalidArgument(f"{what} may be up to {MOST} in 1 ms to 366 days, not {value!r}")
    return f"{starts}/{span}"


def rate_from_wire(stored: str) -> str:
    """A rate as users write it, in the largest unit that fits."""
    starts, _, span = stored.partition("/")
    ms = int(span)
    unit = next(name for name in reversed(UNITS) if ms % UNITS[name] == 0)
    number = ms // UNITS[unit]
    return f"{starts}/{'' if number == 1 else number}{unit}"
