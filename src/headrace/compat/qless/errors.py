"""The exceptions of qless, raised with Qless(raises=True) instead of returning False."""

from __future__ import annotations

from headrace.errors import HeadraceError


class QlessException(HeadraceError):
    """The server refused an operation and changed nothing; __cause__ is the Headrace error."""


class LostLockException(QlessException):
    """The worker does not hold the job, or no longer: stop working on it."""
