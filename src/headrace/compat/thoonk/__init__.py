"""The API of thoonk: feeds with change notices, queues, and jobs that are finished by id."""

from headrace.compat.thoonk.client import AsyncThoonk, Thoonk
from headrace.compat.thoonk.errors import (
    Empty,
    JobDoesNotExist,
    JobNotPending,
    NotAllowed,
    NotListening,
)
from headrace.compat.thoonk.feeds import AsyncLeaf, AsyncSortedFeed, Leaf, SortedFeed
from headrace.compat.thoonk.job_feeds import AsyncThoonkJob as AsyncJob
from headrace.compat.thoonk.job_feeds import AsyncThoonkQueue as AsyncQueue
from headrace.compat.thoonk.job_feeds import ClaimedJob as Claimed
from headrace.compat.thoonk.job_feeds import ThoonkJob as Job
from headrace.compat.thoonk.job_feeds import ThoonkQueue as Queue
from headrace.errors import FeedExists
from headrace.errors import FeedNotFound as FeedDoesNotExist
from headrace.errors import ItemNotFound as ItemDoesNotExist
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
