"""Leaf and SortedFeed: feeds whose items every client can read until a client retracts them."""

from __future__ import annotations

from typing import Any

from headrace.compat.thoonk.registry import LEAF, SORTED, ThoonkFeed
from headrace.engine.check import text
from headrace.errors import InvalidArgument, ItemNotFound
from headrace.feeds import operations
from headrace.operations.method import AsyncMethods, SyncMethods, method
from headrace.operations.paging import all_items
from headrace.transport.drive import Operation


class ItemFeedBase(ThoonkFeed):
    """The methods of a Leaf and of a SortedFeed."""

    get_item = method(operations.item)
    has_id = method(operations.has)
    length = method(operations.length)

    @method
    def get_all(self) -> Operation[dict[str, Any]]:
        """Return a dict that maps each id to its item, in the order of get_ids."""
        return dict((yield from all_items(operations.all, self)))

    @method
    def get_ids(self) -> Operation[list[str]]:
        """Return all ids: newest first for a leaf, in the chosen order for a sorted feed."""
        return list(dict.fromkeys((yield from all_items(operations.ids, self))))

    @method
    def publishes(self) -> Operation[int]:
        """Return how many items were ever published."""
        return (yield from operations.counts(self)).published

    @method
    def retract(self, id: str) -> Operation[None]:  # noqa: A002
        """Remove an item. Raises ItemDoesNotExist if there is no such item."""
        if not (yield from operations.retract(self, id)):
            raise ItemNotFound(self.name, id)


class LeafBase(ItemFeedBase):
    """The methods that Leaf and AsyncLeaf share."""

    type = LEAF

    @method
    def publish(
        self,
        item: Any,
        id: str | None = None,  # noqa: A002 - thoonk's name
        *,
        touch: bool = False,
    ) -> Operation[str]:
        """Publish an item and return its id; an item that already has this id is replaced in place.

        With touch=True, a replaced item becomes the newest item.
        """
        return (yield from operations.publish(self, item, id=id, touch=touch))


class Leaf(LeafBase, SyncMethods):
    """A feed of items, the newest first."""


class AsyncLeaf(LeafBase, AsyncMethods):
    """The asyncio form of Leaf."""


class SortedFeedBase(ItemFeedBase):
    """The methods that SortedFeed and AsyncSortedFeed share."""

    type = SORTED
    sorted = True

    @method
    def append(self, item: Any) -> Operation[str]:
        """Publish an item at the end and return its id."""
        return (yield from operations.publish(self, item))

    publish = append

    @method
    def prepend(self, item: Any) -> Operation[str]:
        """Publish an item at the beginning and return its id."""
        return (yield from operations.publish(self, item, first=True))

    @method
    def publish_before(self, before_id: str, item: Any) -> Operation[str]:
        """Publish an item before another item. Raises ItemDoesNotExist if that item is missing."""
        before = text("before_id", before_id, self.core.limits.name)
        return (yield from operations.publish(self, item, before=before))

    @method
    def publish_after(self, after_id: str, item: Any) -> Operation[str]:
        """Publish an item after another item. Raises ItemDoesNotExist if that item is missing."""
        after = text("after_id", after_id, self.core.limits.name)
        return (yield from operations.publish(self, item, after=after))

    @method
    def edit(self, id: str, item: Any) -> Operation[None]:  # noqa: A002
        """Replace an item but keep its position. Raises ItemDoesNotExist if the item is missing."""
        if not (yield from operations.has(self, id)):
            raise ItemNotFound(self.name, id)
        yield from operations.publish(self, item, id=id)

    @method
    def move(self, rel_position: str, id: str) -> Operation[None]:  # noqa: A002
        """Move an item within the feed.

        `rel_position` is ":2" (before item 2), "2:" (after item 2), "begin:" (to the beginning) or
        ":end" (to the end).
        """
        if not isinstance(rel_position, str):
            raise InvalidArgument(f"rel_position must be a str, not {type(rel_position).__name__}")
        if rel_position == "begin:":
            yield from operations.move(self, id, first=True)
        elif rel_position == ":end":
            yield from operations.move(self, id, last=True)
        elif rel_position.startswith(":"):
            yield from operations.move(self, id, before=rel_position[1:])
        elif rel_position.endswith(":"):
            yield from operations.move(self, id, after=rel_position[:-1])
        else:
            raise InvalidArgument(
                "rel_position must be like ':2' or '2:', or 'begin:' or ':end', "
                f"not {rel_position!r}"
            )

    @method
    def move_before(self, rel_id: str, id: str) -> Operation[None]:  # noqa: A002
        """Move an item before another item."""
        yield from operations.move(self, id, before=rel_id)

    @method
    def move_after(self, rel_id: str, id: str) -> Operation[None]:  # noqa: A002
        """Move an item after another item."""
        yield from operations.move(self, id, after=rel_id)

    @method
    def move_first(self, id: str) -> Operation[None]:  # noqa: A002
        """Move an item to the beginning."""
        yield from operations.move(self, id, first=True)

    @method
    def move_last(self, id: str) -> Operation[None]:  # noqa: A002
        """Move an item to the end."""
        yield from operations.move(self, id, last=True)


class SortedFeed(SortedFeedBase, SyncMethods):
    """A feed of items in an order that the publishers choose."""


class AsyncSortedFeed(SortedFeedBase, AsyncMethods):
    """The asyncio form of SortedFeed."""
