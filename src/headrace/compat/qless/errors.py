"""What qless raises where it does not answer False; see Qless(raises=True)."""

from __future__ import annotations

from headrace.errors import HeadraceError


class QlessException(HeadraceError):
    """An operation was refused, and nothing was changed; __cause__ is the error in our words."""


class LostLockException(QlessException):
    """The job is not yours, or not any more: stop working on it."""
