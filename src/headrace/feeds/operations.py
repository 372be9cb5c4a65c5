"""Operations on feeds: create, configure, publish, move, retract and read.

Internal: the API may change without notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from headrace.engine import keys
from headrace.engine.call import Arg, build, feed_answer
from headrace.engine.check import PAGE, choice, free_text, listed, page, text, whole
from headrace.engine.timestamps import moment
from headrace.errors import FeedNotFound, InvalidArgument, ServerUnavailable
from headrace.feeds.values import FeedCounts, FeedSettings
from headrace.operations.batches import Row, chunks, cut
from headrace.operations.core import Core
from headrace.operations.ids import new_ids
from headrace.operations.paging import first_names
from headrace.operations.protocols import ClientLike, FeedLike
from headrace.operations.putting import PAYLOADS, encoded
from headrace.operations.queues import text_map
from headrace.operations.requests import ask_one, raw
from headrace.transport.drive import Operation
from headrace.transport.transport import Command

LONGEST_FEED = 10**9


def check_feed(core: Core, name: str) -> str:
    """Return the name of a feed; raise InvalidArgument if the name is invalid."""
    return text("feed", name, core.limits.name)


def kind_of(feed: FeedLike) -> str:
    """Return the name that the scripts use for the kind of a feed."""
    return "sorted" if feed.sorted else "plain"


def ask_feed(
    feed: FeedLike, op: str, rows: Sequence[tuple[Arg, ...]] = (), **args: Arg
) -> Operation[Any]:
    """Call a script for the feed. Raises a FeedError if the script refuses the call."""
    call = build(op, feed_answer(feed.name), rows, feed=feed.name, **args)
    return (yield from ask_one(feed.core, feed.core.shard_of(feed.name), call))


# Create, configure, delete.


def make(
    core: Core,
    name: str,
    *,
    sorted: bool = False,  # noqa: A002 - the word users know
    max_length: int | None = None,
    about: str | None = None,
    open_existing: bool = False,
) -> Operation[bool]:
    """Create a feed, or open an existing feed; return whether the feed is sorted.

    Raises FeedExists if the feed exists and `open_existing` is not set.
    """
    kind = "sorted" if sorted else "plain"
    call = build(
        "feed_make",
        feed_answer(name),
        feed=check_feed(core, name),
        kind=kind,
        instance=core.instance,
        open=int(open_existing),
        **_config(core, kind, max_length, about),
    )
    return bool((yield from ask_one(core, core.shard_of(name), call)) == b"sorted")


def open_feed(core: Core, name: str) -> Operation[bool]:
    """Open a feed, or create it if it does not exist; return whether the feed is sorted.

    Read first, because a replica, a full server and a user who may only read refuse to write.
    """
    found = yield from info(core, check_feed(core, name))
    if found is not None:
        return found.fields["kind"] == "sorted"
    return (yield from make(core, name, open_existing=True))


def _config(core: Core, kind: str, max_length: int | None, about: str | None) -> dict[str, Any]:
    if max_length is not None:
        whole("max_length", max_length, 1, LONGEST_FEED)
        if kind == "sorted":
            raise InvalidArgument(
                "a sorted feed cannot have max_length, because such a feed has no oldest item"
            )
    return {
        "max_length": "" if max_length is None else max_length,
        "about": "" if about is None else free_text("about", about, core.limits.message),
    }


def configure(
    feed: FeedLike, *, max_length: int | None = None, about: str | None = None
) -> Operation[None]:
    """Replace all settings of the feed; items beyond `max_length` are retracted, oldest first.

    `about` is a description. A setting that is not passed is removed.

    Raises FeedNotFound if the feed does not exist, and InvalidArgument if `max_length` is passed
    for a sorted feed.

        news.configure(max_length=1000, about="what is new")
    """
    kind, instance = kind_of(feed), feed.core.instance
    config = _config(feed.core, kind, max_length, about)
    continued = finished = 0
    while not finished:
        finished = yield from ask_feed(
            feed, "feed_configure", kind=kind, instance=instance, continued=continued, **config
        )
        continued = 1


def delete(feed: FeedLike) -> Operation[None]:
    """Delete the feed with all its items.

    Raises FeedNotFound if the feed does not exist.
    """
    yield from ask_feed(feed, "feed_delete", instance=feed.core.instance)


# Publish, move, retract.


class FeedPlace(NamedTuple):
    """A position in a sorted feed.

    If `where` is empty, a new item goes to the end and an existing item keeps its position.
    """

    where: str = ""
    reference: str = ""


DEFAULT_PLACE = FeedPlace()


def _place(
    feed: FeedLike, before: str | None, after: str | None, *, first: bool, last: bool = False
) -> FeedPlace:
    named = {"before": before, "after": after}
    places = [
        FeedPlace(where, text(where, reference, feed.core.limits.name))
        for where, reference in named.items()
        if reference is not None
    ]
    places += [FeedPlace(where) for where, wanted in (("first", first), ("last", last)) if wanted]
    if places and not feed.sorted:
        raise InvalidArgument("only a sorted feed has positions; create the feed with sorted=True")
    if len(places) > 1:
        words = ", ".join(f"{place.where}=" for place in places)
        raise InvalidArgument(f"pass only one of {words}")
    return places[0] if places else DEFAULT_PLACE


def _place_of_new(
    feed: FeedLike, before: str | None, after: str | None, *, first: bool, touch: bool
) -> FeedPlace:
    if touch and feed.sorted:
        raise InvalidArgument(
            "touch= is for plain feeds; in a sorted feed pass first=, before= or after="
        )
    if before is None and after is None and not first:
        return DEFAULT_PLACE
    return _place(feed, before, after, first=first)


def _check_reference(ids: Iterable[str], place: FeedPlace) -> None:
    if place.reference and place.reference in ids:
        raise InvalidArgument(f"item {place.reference!r} cannot be placed {place.where} itself")


def publish(
    feed: FeedLike,
    item: Any,
    *,
    id: str | None = None,  # noqa: A002 - the word users know
    touch: bool = False,
    first: bool = False,
    before: str | None = None,
    after: str | None = None,
) -> Operation[str]:
    """Publish an item and return its id; replace an existing item that has the same id.

    In a plain feed, a new item becomes the newest item; with `touch`, a replaced item also becomes
    the newest item. In a sorted feed, `first`, `before` or `after` sets the position. Without these
    arguments, a new item goes to the end and a replaced item keeps its position.

    Raises FeedNotFound if the feed does not exist, ItemNotFound if the item named by `before` or
    `after` does not exist, and InvalidArgument if the arguments do not fit the kind of the feed.

        news.publish({"title": "Released"}, id="release-1")
        todo.publish("write tests", after="write code")
    """
    place = _place_of_new(feed, before, after, first=first, touch=touch)
    payload = encoded(feed.core, item)
    if id is None:
        [item_id] = yield from _new_ids(feed, 1)
    else:
        item_id = text("id", id, feed.core.limits.name)
        _check_reference((item_id,), place)
    yield from _publish(feed, [(item_id, payload)], place, touch=touch)
    return item_id


def publish_many(
    feed: FeedLike,
    items: Iterable[Any] | Mapping[str, Any],
    *,
    touch: bool = False,
    first: bool = False,
    before: str | None = None,
    after: str | None = None,
) -> Operation[list[str]]:
    """Publish many items, a few hundred per round trip, and return their ids in order.

    Pass an iterable of items, or a mapping of ids to items. The other arguments are those of
    Feed.publish. Raises the errors of Feed.publish.

        news.publish_many({"release-1": {"title": "One"}, "release-2": {"title": "Two"}})
    """
    place = _place_of_new(feed, before, after, first=first, touch=touch)
    limits = feed.core.limits
    if isinstance(items, Mapping):
        given = [(text("id", one, limits.name), encoded(feed.core, items[one])) for one in items]
    else:
        payloads = [encoded(feed.core, item) for item in listed("items", items, "items")]
        ids = yield from _new_ids(feed, len(payloads))
        given = list(zip(ids, payloads, strict=True))
    _check_reference([one for one, _ in given], place)
    for at, rows in enumerate(cut(given, limits.batch, PAYLOADS)):
        try:
            yield from _publish(feed, rows, place, touch=touch)
        except ServerUnavailable as error:
            error.maybe_done = error.maybe_done or at > 0
            raise
        if place.where in ("first", "after"):
            place = FeedPlace("after", rows[-1][0])
    return [one for one, _ in given]


def _publish(
    feed: FeedLike, rows: Sequence[tuple[str, bytes]], place: FeedPlace, *, touch: bool
) -> Operation[None]:
    if feed.sorted:
        where, reference = place
        yield from ask_feed(feed, "feed_insert", rows, at_place=where, reference=reference)
    else:
        yield from ask_feed(feed, "feed_publish", rows, touch=int(touch))


def _new_ids(feed: FeedLike, count: int) -> Operation[list[str]]:
    """Return new ids; the ids of a sorted feed are numbers that the server reserves."""
    if not feed.sorted or count == 0:
        return list(new_ids(count))
    last = yield from ask_feed(feed, "feed_numbers", count=count)
    return [str(number) for number in range(last - count + 1, last + 1)]


def move(
    feed: FeedLike,
    *ids: str,
    before: str | None = None,
    after: str | None = None,
    first: bool = False,
    last: bool = False,
) -> Operation[None]:
    """Move up to 1,000 items of a sorted feed to one position, in the order of the ids.

    Raises ItemNotFound and moves nothing if one of the items, or the item named by `before` or
    `after`, does not exist. Raises FeedNotFound if the feed does not exist, and InvalidArgument
    unless exactly one position is passed.

        todo.move("write tests", "write docs", first=True)
    """
    rows = _id_rows(feed, ids)
    place = _place(feed, before, after, first=first, last=last)
    if not place.where:
        raise InvalidArgument("pass the position: before=, after=, first=True or last=True")
    _check_reference(ids, place)
    if len(rows) > PAGE:
        raise InvalidArgument(f"one call can move at most {PAGE} items, not {len(rows)}")
    if rows:
        where, reference = place
        yield from ask_feed(feed, "feed_move", rows, at_place=where, reference=reference)


def retract(feed: FeedLike, *ids: str) -> Operation[list[str]]:
    """Remove items and return the ids of the items that existed.

    Listeners receive an event for each removed item. Raises FeedNotFound if the feed does not
    exist.

        news.retract("release-1", "release-2")
    """
    rows = _id_rows(feed, tuple(dict.fromkeys(ids)))
    found: list[str] = []
    # Without ids, make one empty call, so that a missing feed raises FeedNotFound.
    for part in chunks(rows, feed.core.limits.batch) or [[]]:
        answers = yield from ask_feed(feed, "feed_retract", part)
        found += [str(row[0]) for row, there in zip(part, answers, strict=True) if there]
    return found


def _id_rows(feed: FeedLike, ids: tuple[str, ...]) -> list[Row]:
    return [(text("id", one, feed.core.limits.name),) for one in ids]


# Read.


def ids(
    feed: FeedLike, *, order: str | None = None, offset: int = 0, count: int = PAGE
) -> Operation[list[str]]:
    """Return a page of ids.

    The ids of a plain feed start with the newest item, or with the oldest item if `order` is
    "oldest". The ids of a sorted feed start with the first item, or with the last item if `order`
    is "last".

    Raises FeedNotFound if the feed does not exist.

        news.ids(count=10)
    """
    found, _ = yield from _page(feed, order, offset, count, with_items=False)
    return [one.decode() for one in found]


def all(  # noqa: A001 - the word users know
    feed: FeedLike, *, order: str | None = None, offset: int = 0, count: int = PAGE
) -> Operation[dict[str, Any]]:
    """Return a page of the feed as a dict that maps ids to items, in the order of Feed.ids.

    Raises FeedNotFound if the feed does not exist, and Unreadable if the codec cannot decode an
    item.

        for item_id, item in news.all(count=10).items():
            print(item_id, item)
    """
    found, items = yield from _page(feed, order, offset, count, with_items=True)
    decode = feed.core.codec.decode
    return {one.decode(): decode(item) for one, item in zip(found, items, strict=True)}


def _page(
    feed: FeedLike, order: str | None, offset: int, count: int, *, with_items: bool
) -> Operation[Any]:
    forward, backward = ("first", "last") if feed.sorted else ("oldest", "newest")
    if order is not None:
        choice("order", order, (backward, forward))
    offset, count = page(offset, count)
    return (
        yield from ask_feed(
            feed,
            "feed_page",
            backward=int(order == backward or (order is None and not feed.sorted)),
            offset=offset,
            count=count,
            with_items=int(with_items),
        )
    )


def item(feed: FeedLike, id: str | None = None) -> Operation[Any]:  # noqa: A002
    """Return the item with this id, or None if the item does not exist.

    Without an id, return the first item in the order of Feed.ids, or None if the feed is empty.

    Raises FeedNotFound if the feed does not exist, and Unreadable if the codec cannot decode the
    item.

        news.item("release-1")
    """
    if id is None:
        _, items = yield from _page(feed, None, 0, 1, with_items=True)
    else:
        items = yield from _items(feed, (id,))
    return None if not items or items[0] is None else feed.core.codec.decode(items[0])


def has(feed: FeedLike, id: str) -> Operation[bool]:  # noqa: A002
    """Return whether an item with this id exists.

    Raises FeedNotFound if the feed does not exist.
    """
    return (yield from _items(feed, (id,)))[0] is not None


def _items(feed: FeedLike, ids: tuple[str, ...]) -> Operation[list[bytes | None]]:
    return list((yield from ask_feed(feed, "feed_items", _id_rows(feed, ids))))


class FeedInfo(NamedTuple):
    """The length and the stored fields of a feed."""

    length: int
    fields: dict[str, str]


def info(core: Core, name: str) -> Operation[FeedInfo | None]:
    """Return the length and fields of a feed, or None if the feed does not exist."""
    call = build("feed_info", lambda reply: FeedInfo(reply[0], text_map(reply[1])), feed=name)
    found = yield from ask_one(core, core.shard_of(name), call)
    return found if found.fields else None


def _known(feed: FeedLike) -> Operation[FeedInfo]:
    found = yield from info(feed.core, feed.name)
    if found is None:
        raise FeedNotFound(feed.name)
    return found


def length(feed: FeedLike) -> Operation[int]:
    """Return the number of items.

    Raises FeedNotFound if the feed does not exist.
    """
    return (yield from _known(feed)).length


def counts(feed: FeedLike) -> Operation[FeedCounts]:
    """Return three counts: current items, items ever published, and changes to the feed.

    Raises FeedNotFound if the feed does not exist.
    """
    found = yield from _known(feed)
    return FeedCounts(
        items=found.length,
        published=int(found.fields.get("published", 0)),
        changes=int(found.fields["number"]),
    )


def settings(feed: FeedLike) -> Operation[FeedSettings]:
    """Return the kind, the settings and the creation time of the feed.

    Raises FeedNotFound if the feed does not exist.
    """
    fields = (yield from _known(feed)).fields
    return FeedSettings(
        sorted=fields["kind"] == "sorted",
        max_length=int(fields["max_length"]) if fields["max_length"] else None,
        about=fields["about"] or None,
        created=moment(int(fields["created"])),
    )


# All feeds.


def feed_exists(client: ClientLike, name: str) -> Operation[bool]:
    """Return whether a feed with this name exists.

    Raises InvalidArgument if the name is malformed.
    """
    return (yield from info(client.core, check_feed(client.core, name))) is not None


def feeds(client: ClientLike, *, offset: int = 0, count: int = 100) -> Operation[list[str]]:
    """Return a page of feed names, in the order in which the feeds were created.

    Raises InvalidArgument if `offset` or `count` is out of range.
    """
    core = client.core
    offset, count = page(offset, count)
    return (yield from first_names(core, keys.FEEDS, offset, count))


def changes(core: Core) -> Operation[list[int]]:
    """Return the number of feed changes on each shard."""
    commands: list[Command] = [
        (shard, ("HGET", core.key(shard, keys.LOG), "changes")) for shard in range(core.shards)
    ]
    return [int(number or 0) for number in (yield from raw(core, commands))]
