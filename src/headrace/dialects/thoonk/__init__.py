"""thoonk: feeds that are read and heard, queues that hand out once, jobs that are ended by id."""

from headrace.client.talks.ending import NO_RESULT
from headrace.dialects.thoonk.errors import (
    Empty,
    FeedDoesNotExist,
    FeedExists,
    ItemDoesNotExist,
    JobDoesNotExist,
    JobNotPending,
    NotAllowed,
    NotListening,
)
from headrace.dialects.thoonk.jobs import Claimed
from headrace.dialects.thoonk.leaf import AsyncLeaf, AsyncSortedFeed, Leaf, SortedFeed
from headrace.dialects.thoonk.lines import AsyncJob, AsyncQueue, Job, Queue
from headrace.dialects.thoonk.thoonk import AsyncThoonk, Thoonk

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
