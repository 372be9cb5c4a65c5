"""Leaf and SortedFeed: items that stay until they are retracted, read and heard by everybody."""

from __future__ import annotations

from headrace.compat.thoonk import items
from headrace.compat.thoonk.registry import LEAF, SORTED, Facts
from headrace.feeds import operations
from headrace.operations.method import awaiting, blocking, named


@named
class Leaf(Facts):
    """A feed of items, the newest first, for code that blocks."""

    type = LEAF

    get_all = blocking(items.get_all)
    get_ids = blocking(items.get_ids)
    get_item = blocking(operations.item)
    has_id = blocking(operations.has)
    length = blocking(operations.length)
    publish = blocking(items.publish)
    publishes = blocking(items.publishes)
    retract = blocking(items.retract)


@named
class AsyncLeaf(Facts):
    """The same for code that awaits."""

    type = LEAF

    get_all = awaiting(items.get_all)
    get_ids = awaiting(items.get_ids)
    get_item = awaiting(operations.item)
    has_id = awaiting(operations.has)
    length = awaiting(operations.length)
    publish = awaiting(items.publish)
    publishes = awaiting(items.publishes)
    retract = awaiting(items.retract)


@named
class SortedFeed(Facts):
    """A feed of items in an order that is chosen, for code that blocks."""

    type = SORTED
    sorted = True

    append = blocking(items.append)
    edit = blocking(items.edit)
    get_all = blocking(items.get_all)
    get_ids = blocking(items.get_ids)
    get_item = blocking(operations.item)
    has_id = blocking(operations.has)
    length = blocking(operations.length)
    move = blocking(items.move)
    move_after = blocking(items.move_after)
    move_before = blocking(items.move_before)
    move_first = blocking(items.move_first)
    move_last = blocking(items.move_last)
    prepend = blocking(items.prepend)
    publish = blocking(items.append)
    publish_after = blocking(items.publish_after)
    publish_before = blocking(items.publish_before)
    publishes = blocking(items.publishes)
    retract = blocking(items.retract)


@named
class AsyncSortedFeed(Facts):
    """The same for code that awaits."""

    type = SORTED
    sorted = True

    append = awaiting(items.append)
    edit = awaiting(items.edit)
    get_all = awaiting(items.get_all)
    get_ids = awaiting(items.get_ids)
    get_item = awaiting(operations.item)
    has_id = awaiting(operations.has)
    length = awaiting(operations.length)
    move = awaiting(items.move)
    move_after = awaiting(items.move_after)
    move_before = awaiting(items.move_before)
    move_first = awaiting(items.move_first)
    move_last = awaiting(items.move_last)
    prepend = awaiting(items.prepend)
    publish = awaiting(items.append)
    publish_after = awaiting(items.publish_after)
    publish_before = awaiting(items.publish_before)
    publishes = awaiting(items.publishes)
    retract = awaiting(items.retract)
