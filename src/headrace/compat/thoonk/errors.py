"""What can go wrong, as thoonk calls it. Of feeds and items the errors are those of Headrace."""

from __future__ import annotations

from headrace.errors import FeedError, FeedExists, HeadraceError, JobError
from headrace.errors import FeedNotFound as FeedDoesNotExist
from headrace.errors import ItemNotFound as ItemDoesNotExist

__all__ = [
    "Empty",
    "FeedDoesNotExist",
    "FeedExists",
    "ItemDoesNotExist",
    "JobDoesNotExist",
    "JobNotPending",
    "NotAllowed",
    "NotListening",
]


class Empty(HeadraceError):
    """Nothing came in time."""


class JobDoesNotExist(JobError):
    """The feed has no such job, or not in the state in which this can be said of it."""


class JobNotPending(JobError):
    """A job that nobody holds cannot be cancelled."""


class NotAllowed(FeedError):
    """The feed is of another type."""


class NotListening(HeadraceError):
    """A handler is of use only where somebody listens."""

    def __init__(self) -> None:
        super().__init__("this Thoonk does not listen, so no handler would be called: listen=True")
