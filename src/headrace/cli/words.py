"""How numbers are said to people."""

from __future__ import annotations

from datetime import datetime


def size(count: float) -> str:
    """Bytes, in the unit that fits."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def span(seconds: float) -> str:
    """A time, in the unit that fits."""
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    for unit, length in (("s", 120), ("min", 120 * 60), ("h", 48 * 3600)):
        if seconds < length:
            return f"{seconds / _SECONDS[unit]:.3g} {unit}"
    return f"{seconds / 86400:.0f} days"


_SECONDS = {"s": 1, "min": 60, "h": 3600}


def some(names: list[str], most: int = 3) -> str:
    """The first of a list, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def counted(number: int, noun: str) -> str:
    """1 job, 2 jobs."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ago(when: datetime | None, now: datetime) -> str:
    """A moment as seen from now."""
    if when is None:
        return ""
    past = (now - when).total_seconds()
    if past < 0:
        return f"in {span(-past)}"
    return f"{span(max(1, round(past)))} ago"
