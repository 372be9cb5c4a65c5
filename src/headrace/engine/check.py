"""Argument checks, which run before anything is sent and raise InvalidArgument."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal

from headrace.errors import InvalidArgument

Span = float | int | timedelta
# "aof", or the number of replicas that must have stored a call; 0 means no wait.
Durability = Literal["aof"] | int

LATEST_YEAR = 3000
LONGEST_MS = 100 * 365 * 86_400_000
PAGE = 1000
NOT_IN_NAMESPACES = ":{}*?[]\\"
MOST_REPLICAS = 100
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Limits:
    """Size limits of a client, for `connect(limits=...)`.

    `payload`, `name` and `message` are maximum sizes in bytes. `tags` is the maximum number of tags
    of a job. `batch` is the maximum number of jobs in one call to a script.
    """

    payload: int = 1 << 20
    name: int = 250
    tags: int = 32
    message: int = 1 << 16
    batch: int = 250

    def __post_init__(self) -> None:
        whole("payload", self.payload, 0, 1 << 29)
        whole("name", self.name, 40, 1 << 16)
        whole("tags", self.tags, 0, 1000)
        whole("message", self.message, 40, 1 << 29)
        whole("batch", self.batch, 1, 1000)


def text(what: str, value: object, longest: int) -> str:
    """Check and return a non-empty string: at most `longest` bytes, no control characters."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{what} must be a str, not {type(value).__name__}")
    if not value:
        raise InvalidArgument(f"{what} must not be empty")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidArgument(f"{what} must be valid Unicode, not {value!r}") from None
    if size > longest:
        raise InvalidArgument(f"{what} must have at most {longest} bytes, not {size}")
    if not value.isprintable() and any(ord(char) < 32 or ord(char) == 127 for char in value):
        raise InvalidArgument(f"{what} must not contain control characters: {value!r}")
    return value


def free_text(what: str, value: object, longest: int) -> str:
    """Check and return a string; if it has more than `longest` bytes, cut off its end."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{what} must be a str, not {type(value).__name__}")
    encoded = value.encode(errors="replace")
    if len(encoded) <= longest:
        return encoded.decode()
    return encoded[: longest - 4].decode(errors="ignore") + " ..."


def end_of_text(what: str, value: object, longest: int) -> str:
    """Check and return a string; if it has more than `longest` bytes, cut off its beginning.

    The end of a traceback is kept, because its last line names the error.
    """
    if not isinstance(value, str):
        raise InvalidArgument(f"{what} must be a str, not {type(value).__name__}")
    encoded = value.encode(errors="replace")
    if len(encoded) <= longest:
        return encoded.decode()
    return "... " + encoded[4 - longest :].decode(errors="ignore")


def namespace(value: object) -> str:
    """Check and return the name of a namespace.

    Keys contain the name in their hash tag, before a colon, and ACL rules contain it in key
    patterns. Spaces, and characters that have a special meaning in these places, are therefore
    refused.
    """
    name = text("namespace", value, 100)
    if found := [char for char in name if char.isspace() or char in NOT_IN_NAMESPACES]:
        raise InvalidArgument(
            f"namespace must not contain spaces or any of {NOT_IN_NAMESPACES}, but {name!r} "
            f"contains {found[0]!r}"
        )
    return name


def whole(what: str, value: object, least: int, most: int) -> int:
    """Check and return an integer from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(f"{what} must be an int, not {type(value).__name__}")
    if not least <= value <= most:
        raise InvalidArgument(f"{what} must be from {least} to {most}, not {shown(value)}")
    return value


def page(offset: object, count: object) -> tuple[int, int]:
    """Check and return the offset and the count of a page."""
    return whole("offset", offset, 0, 10**9), whole("count", count, 1, PAGE)


def milliseconds(what: str, value: object) -> int:
    """Convert a duration, in seconds or as a timedelta, to whole milliseconds."""
    if isinstance(value, timedelta):
        ms = value / timedelta(milliseconds=1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidArgument(f"{what} must be finite, not {value}")
        ms = value * 1000
    else:
        raise InvalidArgument(
            f"{what} must be a number of seconds or a timedelta, not {type(value).__name__}"
        )
    if not 0 <= ms <= LONGEST_MS:
        raise InvalidArgument(f"{what} must be from 0 to 100 years, not {shown(value)}")
    return round(ms)


def moment_ms(what: str, value: object) -> int:
    """Convert a datetime with a time zone to milliseconds since 1970."""
    if not isinstance(value, datetime):
        raise InvalidArgument(f"{what} must be a datetime, not {type(value).__name__}")
    if value.tzinfo is None:
        raise InvalidArgument(f"{what} must have a time zone, as in datetime(..., tzinfo=UTC)")
    if value.year > LATEST_YEAR:
        raise InvalidArgument(f"{what} must be in the year {LATEST_YEAR} or earlier, not {value}")
    return round(value.timestamp() * 1000)


def number(what: str, value: object) -> float | int:
    """Check and return a number from -2**53 to 2**53."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidArgument(f"{what} must be a number, not {type(value).__name__}")
    if not abs(value) <= 2**53:
        raise InvalidArgument(f"{what} must be from -2**53 to 2**53, not {shown(value)}")
    return value


def listed(what: str, value: object, of: str) -> list[Any]:
    """Return an iterable as a list. Refuse a str, which would be split into characters."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidArgument(f"{what} must be a list of {of}, not {shown(value)}")
    return list(value)


def shown(value: object, most: int = 100) -> str:
    """Return the first characters of a value's repr, for an error message."""
    try:
        words = repr(value)
    except ValueError:
        return "a number with thousands of digits"
    return words if len(words) <= most else f"{words[:most]}..."


def tags(value: object, limits: Limits) -> list[str]:
    """Check tags, and return them without duplicates."""
    every = listed("tags", value, "str")
    found = list(dict.fromkeys(text("a tag", tag, limits.name) for tag in every))
    if len(found) > limits.tags:
        raise InvalidArgument(f"a job can have at most {limits.tags} tags, not {len(found)}")
    return found


def choice(what: str, value: object, allowed: tuple[str, ...]) -> str:
    """Check that a value is one of the allowed values, and return it."""
    if value not in allowed:
        words = " or ".join(map(repr, allowed))
        raise InvalidArgument(f"{what} must be {words}, not {shown(value)}")
    return str(value)


def durability(value: object) -> Durability:
    """Check and return a durability: "aof" or a number of replicas."""
    if value == "aof":
        return "aof"
    if isinstance(value, str):
        raise InvalidArgument(f"durability must be 'aof' or a number of replicas, not {value!r}")
    return whole("durability", value, 0, MOST_REPLICAS)


def day_number(value: object) -> int:
    """Return the number of days from 1970-01-01 to a date, or to a string such as 2026-11-18."""
    try:
        day = value if isinstance(value, date) else date.fromisoformat(str(value))
    except ValueError:
        raise InvalidArgument(
            f"the day must be a date, or a string such as 2026-11-18, not {value!r}"
        ) from None
    days = (date(day.year, day.month, day.day) - EPOCH).days
    if days < 0:
        raise InvalidArgument(f"the day must be 1970-01-01 or later, not {value!r}")
    return days
