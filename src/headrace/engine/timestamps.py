"""Conversion of the server's timestamps, milliseconds since 1970, to datetimes in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The length of a day in seconds.
DAY = 86_400


def moment(ms: float) -> datetime:
    """Convert milliseconds since 1970 to a UTC datetime."""
    return EPOCH + timedelta(milliseconds=ms)


def moment_or_none(ms: float | bytes) -> datetime | None:
    """Convert milliseconds to a UTC datetime, or return None for False, b"" and b"inf"."""
    if ms in (False, b"", b"inf"):
        return None
    return moment(float(ms))
