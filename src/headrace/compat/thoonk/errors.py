"""The exceptions of thoonk that have no equivalent in Headrace."""

from __future__ import annotations

from headrace.errors import FeedError, HeadraceError, JobError


class Empty(HeadraceError):
    """No item or result arrived within the timeout."""


class JobDoesNotExist(JobError):
    """The feed has no such job, or the job is not in the state that the call requires."""


class JobNotPending(JobError):
    """The job cannot be cancelled because it is not running."""


class NotAllowed(FeedError):
    """The type of the feed does not match the call."""


class NotListening(HeadraceError):
    """A handler was registered with a Thoonk that does not listen."""

    def __init__(self) -> None:
        super().__init__("this Thoonk cannot call handlers: pass listen=True to Thoonk(...)")
