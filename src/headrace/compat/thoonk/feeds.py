"""The feeds of thoonk, sync and async.

Everyone can read the items of a Leaf or a SortedFeed until they are retracted. Each item of a
ThoonkQueue or a ThoonkJob goes to one consumer.
"""

from __future__ import annotations

from headrace.compat.thoonk import item_operations, job_operations
from headrace.compat.thoonk.registry import LEAF, SORTED, ThoonkFeed
from headrace.feeds import operations
from headrace.operations.method import AsyncMethods, SyncMethods, method


class ItemFeedBase(ThoonkFeed):
    """The methods of a Leaf and of a SortedFeed."""

    get_all = method(item_operations.get_all)
    get_ids = method(item_operations.get_ids)
    get_item = method(operations.item)
    has_id = method(operations.has)
    length = method(operations.length)
    publishes = method(item_operations.publishes)
    retract = method(item_operations.retract)


class LeafBase(ItemFeedBase):
    """The methods that Leaf and AsyncLeaf share."""

    type = LEAF

    publish = method(item_operations.publish)


class Leaf(LeafBase, SyncMethods):
    """A feed of items, the newest first."""


class AsyncLeaf(LeafBase, AsyncMethods):
    """The asyncio form of Leaf."""


class SortedFeedBase(ItemFeedBase):
    """The methods that SortedFeed and AsyncSortedFeed share."""

    type = SORTED
    sorted = True

    append = method(item_operations.append)
    edit = method(item_operations.edit)
    move = method(item_operations.move)
    move_after = method(item_operations.move_after)
    move_before = method(item_operations.move_before)
    move_first = method(item_operations.move_first)
    move_last = method(item_operations.move_last)
    prepend = method(item_operations.prepend)
    publish = method(item_operations.append)
    publish_after = method(item_operations.publish_after)
    publish_before = method(item_operations.publish_before)


class SortedFeed(SortedFeedBase, SyncMethods):
    """A feed of items in an order that the publishers choose."""


class AsyncSortedFeed(SortedFeedBase, AsyncMethods):
    """The asyncio form of SortedFeed."""


class JobFeedBase(ThoonkFeed):
    """The methods of a ThoonkQueue and of a ThoonkJob."""

    HIGH = job_operations.HIGH

    get_item = method(job_operations.get_item)
    has_id = method(job_operations.has_id)
    length = method(job_operations.length)
    publish = method(job_operations.put)
    put = method(job_operations.put)
    retract = method(job_operations.retract)


class ThoonkQueueBase(JobFeedBase):
    """The methods that ThoonkQueue and AsyncThoonkQueue share."""

    type = "queue"

    get = method(job_operations.get)
    get_all = method(job_operations.waiting_items)
    get_ids = method(job_operations.waiting_ids)


class ThoonkQueue(ThoonkQueueBase, SyncMethods):
    """A queue: `get` returns an item and removes it."""


class AsyncThoonkQueue(ThoonkQueueBase, AsyncMethods):
    """The asyncio form of ThoonkQueue."""


class ThoonkJobBase(JobFeedBase):
    """The methods that ThoonkJob and AsyncThoonkJob share."""

    type = "job"

    cancel = method(job_operations.cancel)
    finish = method(job_operations.finish)
    get = method(job_operations.claim)
    get_all = method(job_operations.all_items)
    get_claimed = method(job_operations.get_claimed)
    get_failure_count = method(job_operations.get_failure_count)
    get_ids = method(job_operations.all_ids)
    get_result = method(job_operations.get_result)
    get_running = method(job_operations.get_running)
    get_stalled = method(job_operations.get_stalled)
    retry = method(job_operations.retry)
    stall = method(job_operations.stall)


class ThoonkJob(ThoonkJobBase, SyncMethods):
    """A feed of jobs: a consumer gets one, then finishes, cancels or stalls it by id."""


class AsyncThoonkJob(ThoonkJobBase, AsyncMethods):
    """The asyncio form of ThoonkJob."""
