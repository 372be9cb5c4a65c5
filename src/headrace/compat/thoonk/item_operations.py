"""Operations on the items of a leaf and of a sorted feed."""

from __future__ import annotations

from typing import Any

from headrace.compat.thoonk.errors import ItemDoesNotExist
from headrace.engine.check import PAGE, text
from headrace.errors import InvalidArgument
from headrace.feeds import operations
from headrace.operations.protocols import FeedLike
from headrace.transport.drive import Operation


def publish(
    feed: FeedLike,
    item: Any,
    id: str | None = None,  # noqa: A002 - thoonk's name
    *,
    touch: bool = False,
) -> Operation[str]:
    """Publish an item and return its id; an item with this id is replaced and keeps its position.

    With touch=True it becomes the newest item.
    """
    return (yield from operations.publish(feed, item, id=id, touch=touch))


def retract(feed: FeedLike, id: str) -> Operation[None]:  # noqa: A002
    """Remove an item. Raises ItemDoesNotExist if there is none."""
    if not (yield from operations.retract(feed, id)):
        raise ItemDoesNotExist(feed.name, id)


def get_ids(feed: FeedLike) -> Operation[list[str]]:
    """Return all ids: those of a leaf newest first, those of a sorted feed in order."""
    found: dict[str, None] = {}
    while page := (yield from operations.ids(feed, offset=len(found), count=PAGE)):
        found |= dict.fromkeys(page)
        if len(page) < PAGE:
            break
    return list(found)


def get_all(feed: FeedLike) -> Operation[dict[str, Any]]:
    """Return all items by id, in the order of get_ids."""
    found: dict[str, Any] = {}
    while page := (yield from operations.all(feed, offset=len(found), count=PAGE)):
        found |= page
        if len(page) < PAGE:
            break
    return found


def publishes(feed: FeedLike) -> Operation[int]:
    """Return how many items were ever published."""
    return (yield from operations.counts(feed)).published


# Sorted feeds.


def append(feed: FeedLike, item: Any) -> Operation[str]:
    """Publish an item at the end and return its id."""
    return (yield from operations.publish(feed, item))


def prepend(feed: FeedLike, item: Any) -> Operation[str]:
    """Publish an item at the beginning and return its id."""
    return (yield from operations.publish(feed, item, first=True))


def publish_before(feed: FeedLike, before_id: str, item: Any) -> Operation[str]:
    """Publish an item before another one. Raises ItemDoesNotExist if that one is not there."""
    before = text("before_id", before_id, feed.core.limits.name)
    return (yield from operations.publish(feed, item, before=before))


def publish_after(feed: FeedLike, after_id: str, item: Any) -> Operation[str]:
    """Publish an item after another one. Raises ItemDoesNotExist if that one is not there."""
    after = text("after_id", after_id, feed.core.limits.name)
    return (yield from operations.publish(feed, item, after=after))


def edit(feed: FeedLike, id: str, item: Any) -> Operation[None]:  # noqa: A002
    """Replace an item in its position. Raises ItemDoesNotExist if there is none."""
    if not (yield from operations.has(feed, id)):
        raise ItemDoesNotExist(feed.name, id)
    yield from operations.publish(feed, item, id=id)


def move(feed: FeedLike, rel_position: str, id: str) -> Operation[None]:  # noqa: A002
    """Move an item before another one (":2"), after it ("2:"), to "begin:" or to ":end"."""
    if not isinstance(rel_position, str):
        raise InvalidArgument(f"rel_position must be a str, not {type(rel_position).__name__}")
    if rel_position == "begin:":
        yield from move_first(feed, id)
    elif rel_position == ":end":
        yield from move_last(feed, id)
    elif rel_position.startswith(":"):
        yield from move_before(feed, rel_position[1:], id)
    elif rel_position.endswith(":"):
        yield from move_after(feed, rel_position[:-1], id)
    else:
        raise InvalidArgument(
            f"rel_position must be like ':2' or '2:', or 'begin:' or ':end', not {rel_position!r}"
        )


def move_before(feed: FeedLike, rel_id: str, id: str) -> Operation[None]:  # noqa: A002
    """Move an item before another one."""
    yield from operations.move(feed, id, before=rel_id)


def move_after(feed: FeedLike, rel_id: str, id: str) -> Operation[None]:  # noqa: A002
    """Move an item after another one."""
    yield from operations.move(feed, id, after=rel_id)


def move_first(feed: FeedLike, id: str) -> Operation[None]:  # noqa: A002
    """Move an item to the beginning."""
    yield from operations.move(feed, id, first=True)


def move_last(feed: FeedLike, id: str) -> Operation[None]:  # noqa: A002
    """Move an item to the end."""
    yield from operations.move(feed, id, last=True)
