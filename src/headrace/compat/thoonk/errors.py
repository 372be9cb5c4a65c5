"""The exceptions of thoonk that Headrace does not have."""

from __future__ import annotations

from headrace.errors import FeedError, HeadraceError, JobError


class Empty(HeadraceError):
    """No item or result arrived within the timeout."""


class JobDoesNotExist(JobError):
    """The feed has no such job, or the job is in another state than the call needs."""


class JobNotPending(JobError):
    """A job that is not running cannot be cancelled."""


class NotAllowed(FeedError):
    """The feed has another type."""


class NotListening(HeadraceError):
    """A handler was registered with a Thoonk that does not listen."""

    def __init__(self) -> None:
        super().__init__("handlers are never called without listen=True: pass it to Thoonk(...)")
