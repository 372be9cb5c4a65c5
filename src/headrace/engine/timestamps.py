"""Conversion of the server's timestamps, milliseconds since 1970, to datetimes in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(ms: float) -> datetime:
    """Return the datetime of a number of milliseconds since 1970."""
    return EPOCH + timedelta(milliseconds=ms)


def moment_or_none(ms: float | bytes) -> datetime | None:
    """Return the datetime, or None for the values that scripts return if there is no time."""
    if ms in (False, b"", b"inf"):
        return None
    return moment(float(ms))
