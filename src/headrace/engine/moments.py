"""Moments: the server's milliseconds as datetimes, always UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(ms: float) -> datetime:
    """Milliseconds since 1970 as a datetime."""
    return EPOCH + timedelta(milliseconds=ms)


def moment_or_none(ms: float | bytes) -> datetime | None:
    """The same where the server may say that there is none."""
    if ms in (False, b"", b"inf"):
        return None
    return moment(float(ms))
