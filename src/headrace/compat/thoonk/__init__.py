"""thoonk: feeds that are read and heard, queues that hand out once, jobs that are ended by id."""

from headrace.compat.thoonk.errors import (
    Empty,
    FeedDoesNotExist,
    FeedExists,
    ItemDoesNotExist,
    JobDoesNotExist,
    JobNotPending,
    NotAllowed,
    NotListening,
)
from headrace.compat.thoonk.jobs import Claimed
from headrace.compat.thoonk.leaf import AsyncLeaf, AsyncSortedFeed, Leaf, SortedFeed
from headrace.compat.thoonk.lines import AsyncJob, AsyncQueue, Job, Queue
from headrace.compat.thoonk.thoonk import AsyncThoonk, Thoonk
from headrace.operations.finishing import NO_RESULT

__all__ = [
    "NO_RESULT",
    "AsyncJob",
    "AsyncLeaf",
    "AsyncQueue",
    "AsyncSortedFeed",
    "AsyncThoonk",
    "Claimed",
    "Empty",
    "FeedDoesNotExist",
    "FeedExists",
    "ItemDoesNotExist",
    "Job",
    "JobDoesNotExist",
    "JobNotPending",
    "Leaf",
    "NotAllowed",
    "NotListening",
    "Queue",
    "SortedFeed",
    "Thoonk",
]
