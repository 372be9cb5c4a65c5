"""What is asked and said of feeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headrace.engine.call import Call, build, feed_answer
from headrace.engine.check import PAGE, choice, free_text, listed, page, text, whole
from headrace.engine.timestamps import moment
from headrace.errors import FeedNotFound, InvalidArgument, ServerUnavailable
from headrace.feeds.values import FeedCounts, FeedSettings
from headrace.operations.batches import Row
from headrace.operations.core import Core
from headrace.operations.ids import new_ids, new_nonce
from headrace.operations.protocols import ClientLike, FeedLike
from headrace.operations.putting import encoded
from headrace.operations.queues import text_map
from headrace.operations.requests import ask, ask_one
from headrace.transport.drive import Operation

LONGEST_FEED = 10**9


def check_feed(core: Core, name: str) -> str:
    """The name of a feed, if it can be one."""
    return text("feed", name, core.limits.name)


def kind_of(feed: FeedLike) -> str:
    """The kind of a feed, as the scripts call it."""
    return "sorted" if feed.sorted else "plain"


def ask_feed(feed: FeedLike, call: Call[Any]) -> Operation[Any]:
    """Makes a call where the feed lives."""
    return (yield from ask_one(feed.core, feed.core.shard_of(feed.name), call))


# made, configured, deleted


def make(
    core: Core,
    name: str,
    *,
    kind: str = "plain",
    max_length: int | None = None,
    about: str | None = None,
    open_existing: bool = False,
) -> Operation[bool]:
    """Makes a feed, or opens the one that is there; whether it is sorted."""
    call = build(
        "feed_make",
        feed_answer(name),
        feed=check_feed(core, name),
        kind=kind,
        nonce=new_nonce(),
        instance=core.instance,
        open=int(open_existing),
        **_config(core, kind, max_length, about),
    )
    return bool((yield from ask_one(core, core.shard_of(name), call)) == b"sorted")


def _config(core: Core, kind: str, max_length: int | None, about: str | None) -> dict[str, Any]:
    if max_length is not None:
        whole("max_length", max_length, 1, LONGEST_FEED)
        if kind == "sorted":
            raise InvalidArgument("a sorted feed has no oldest item, so it has no max_length")
    return {
        "max_length": "" if max_length is None else max_length,
        "about": "" if about is None else free_text("about", about, core.limits.message),
    }


def configure(
    feed: FeedLike, *, max_length: int | None = None, about: str | None = None
) -> Operation[None]:
    """Replaces all that is set of the feed; what is then too many is retracted, oldest first."""
    call = build(
        "feed_configure",
        feed_answer(feed.name),
        feed=feed.name,
        kind=kind_of(feed),
        nonce=new_nonce(),
        instance=feed.core.instance,
        **_config(feed.core, kind_of(feed), max_length, about),
    )
    while not (yield from ask_feed(feed, call)):
        pass


def delete(feed: FeedLike) -> Operation[None]:
    """Deletes the feed with every item; nothing of it is left."""
    call = build("feed_delete", feed_answer(feed.name), feed=feed.name, instance=feed.core.instance)
    yield from ask_feed(feed, call)


# published, moved, retracted


class Place(NamedTuple):
    """Where in a sorted feed; '' is the last place for what is new, its own for what is there."""

    where: str = ""
    reference: str = ""


ANYWHERE = Place()


def _place(
    feed: FeedLike, before: str | None, after: str | None, *, first: bool, last: bool = False
) -> Place:
    named = {"before": before, "after": after}
    places = [
        Place(where, text(where, reference, feed.core.limits.name))
        for where, reference in named.items()
        if reference is not None
    ]
    places += [Place(where) for where, wanted in (("first", first), ("last", last)) if wanted]
    if places and not feed.sorted:
        raise InvalidArgument("only a sorted feed has places: make it with sorted=True")
    if len(places) > 1:
        words = " and ".join(f"{place.where}=" for place in places)
        raise InvalidArgument(f"one place at a time, not {words}")
    return places[0] if places else ANYWHERE


def _place_of_new(
    feed: FeedLike, before: str | None, after: str | None, *, first: bool, touch: bool
) -> Place:
    if touch and feed.sorted:
        raise InvalidArgument("a sorted feed has no newest item: give first=, before= or after=")
    if before is None and after is None and not first:
        return ANYWHERE
    return _place(feed, before, after, first=first)


def _elsewhere(ids: Iterable[str], place: Place) -> None:
    if place.reference and place.reference in ids:
        raise InvalidArgument(f"{place.reference!r} cannot stand {place.where} itself")


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
    """Publishes an item and returns its id; one that is there is replaced and keeps its place.

    In a plain feed new items are the newest, and touch=True makes an old one so. In a sorted feed
    they are the last, or first, or before or after another one, and an old one goes there too.
    """
    place = _place_of_new(feed, before, after, first=first, touch=touch)
    payload = encoded(feed.core, item)
    if id is None:
        [item_id] = yield from _new_ids(feed, 1)
    else:
        item_id = text("id", id, feed.core.limits.name)
        _elsewhere((item_id,), place)
    yield from ask_feed(feed, _publish_call(feed, [(item_id, payload)], place, touch=touch))
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
    """Publishes items, in a mapping each by its id, a few hundred in a round trip; their ids."""
    place = _place_of_new(feed, before, after, first=first, touch=touch)
    limits = feed.core.limits
    if isinstance(items, Mapping):
        given = [(text("id", one, limits.name), encoded(feed.core, items[one])) for one in items]
    else:
        payloads = [encoded(feed.core, item) for item in listed("items", items, "items")]
        ids = yield from _new_ids(feed, len(payloads))
        given = list(zip(ids, payloads, strict=True))
    _elsewhere([one for one, _ in given], place)
    for first_row in range(0, len(given), limits.batch):
        rows = given[first_row : first_row + limits.batch]
        try:
            yield from ask_feed(feed, _publish_call(feed, rows, place, touch=touch))
        except ServerUnavailable as error:
            error.maybe_done = error.maybe_done or first_row > 0
            raise
        if place.where in ("first", "after"):
            place = Place("after", rows[-1][0])
    return [one for one, _ in given]


def _publish_call(
    feed: FeedLike, rows: Sequence[tuple[str, bytes]], place: Place, *, touch: bool
) -> Call[Any]:
    decode = feed_answer(feed.name)
    if feed.sorted:
        return build(
            "feed_insert",
            decode,
            rows,
            feed=feed.name,
            at_place=place.where,
            reference=place.reference,
            nonce=new_nonce(),
        )
    return build("feed_publish", decode, rows, feed=feed.name, touch=int(touch), nonce=new_nonce())


def _new_ids(feed: FeedLike, count: int) -> Operation[list[str]]:
    """New ids; those of a sorted feed are numbers that nobody else is given."""
    if not feed.sorted or count == 0:
        return list(new_ids(count))
    call = build("feed_numbers", feed_answer(feed.name), feed=feed.name, count=count)
    last = yield from ask_feed(feed, call)
    return [str(number) for number in range(last - count + 1, last + 1)]


def move(
    feed: FeedLike,
    *ids: str,
    before: str | None = None,
    after: str | None = None,
    first: bool = False,
    last: bool = False,
) -> Operation[None]:
    """Moves items of a sorted feed to a place, where they stand in the given order.

    Raises ItemNotFound, and moves none, if one of them or the one at that place is not there.
    """
    rows = _id_rows(feed, ids)
    place = _place(feed, before, after, first=first, last=last)
    if not place.where:
        raise InvalidArgument("say where to: before=, after=, first=True or last=True")
    _elsewhere(ids, place)
    if len(rows) > PAGE:
        raise InvalidArgument(f"up to {PAGE} items can be moved together, not {len(rows)}")
    if rows:
        call = build(
            "feed_move",
            feed_answer(feed.name),
            rows,
            feed=feed.name,
            at_place=place.where,
            reference=place.reference,
        )
        yield from ask_feed(feed, call)


def retract(feed: FeedLike, *ids: str) -> Operation[list[str]]:
    """Takes items away and returns the ids of those that were there; no others are told of."""
    rows = _id_rows(feed, tuple(dict.fromkeys(ids)))
    found: list[str] = []
    for part in _parts(feed, rows):
        answers = yield from ask_feed(
            feed, build("feed_retract", feed_answer(feed.name), part, feed=feed.name)
        )
        found += [str(row[0]) for row, there in zip(part, answers, strict=True) if there]
    return found


def _id_rows(feed: FeedLike, ids: tuple[str, ...]) -> list[Row]:
    return [(text("id", one, feed.core.limits.name),) for one in ids]


def _parts(feed: FeedLike, rows: list[Row]) -> Iterator[list[Row]]:
    size = feed.core.limits.batch
    # Also without any: a feed that is not there is told of.
    for first in range(0, max(1, len(rows)), size):
        yield rows[first : first + size]


# read


def ids(
    feed: FeedLike, *, order: str | None = None, offset: int = 0, count: int = PAGE
) -> Operation[list[str]]:
    """A page of ids: of a plain feed the newest first, or order="oldest"; of a sorted feed from
    the first on, or order="last".
    """
    found, _ = yield from _page(feed, order, offset, count, with_items=False)
    return [one.decode() for one in found]


def all(  # noqa: A001 - the word users know
    feed: FeedLike, *, order: str | None = None, offset: int = 0, count: int = PAGE
) -> Operation[dict[str, Any]]:
    """A page of items by their ids, in the order of ids()."""
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
    call = build(
        "feed_page",
        feed_answer(feed.name),
        feed=feed.name,
        backward=int(order == backward or (order is None and not feed.sorted)),
        offset=offset,
        count=count,
        with_items=int(with_items),
    )
    return (yield from ask_feed(feed, call))


def item(feed: FeedLike, id: str | None = None) -> Operation[Any]:  # noqa: A002
    """The item of this id, None if there is none; without an id that of the first of ids()."""
    if id is None:
        _, items = yield from _page(feed, None, 0, 1, with_items=True)
    else:
        items = yield from _items(feed, (id,))
    return None if not items or items[0] is None else feed.core.codec.decode(items[0])


def has(feed: FeedLike, id: str) -> Operation[bool]:  # noqa: A002
    """Whether there is an item of this id."""
    return (yield from _items(feed, (id,)))[0] is not None


def _items(feed: FeedLike, ids: tuple[str, ...]) -> Operation[list[bytes | None]]:
    call: Call[Any] = build(
        "feed_items", feed_answer(feed.name), _id_rows(feed, ids), feed=feed.name
    )
    return list((yield from ask_feed(feed, call)))


class Info(NamedTuple):
    """What is stored of a feed."""

    length: int
    fields: dict[str, str]


def info(core: Core, name: str) -> Operation[Info | None]:
    """What is stored of a feed; None if it is not there."""
    call = build("feed_info", lambda reply: Info(reply[0], text_map(reply[1])), feed=name)
    found = yield from ask_one(core, core.shard_of(name), call)
    return found if found.fields else None


def _known(feed: FeedLike) -> Operation[Info]:
    found = yield from info(feed.core, feed.name)
    if found is None:
        raise FeedNotFound(feed.name)
    return found


def length(feed: FeedLike) -> Operation[int]:
    """How many items the feed has."""
    return (yield from _known(feed)).length


def counts(feed: FeedLike) -> Operation[FeedCounts]:
    """How many items the feed has, how many were published, and how often it has changed."""
    found = yield from _known(feed)
    return FeedCounts(
        items=found.length,
        published=int(found.fields.get("published", 0)),
        changes=int(found.fields["number"]),
    )


def settings(feed: FeedLike) -> Operation[FeedSettings]:
    """How the feed was made, and what is set of it."""
    fields = (yield from _known(feed)).fields
    return FeedSettings(
        sorted=fields["kind"] == "sorted",
        max_length=int(fields["max_length"]) if fields["max_length"] else None,
        about=fields["about"] or None,
        created=moment(int(fields["created"])),
    )


# all feeds


def feed_exists(client: ClientLike, name: str) -> Operation[bool]:
    """Whether there is a feed of this name."""
    return (yield from info(client.core, check_feed(client.core, name))) is not None


def feeds(client: ClientLike, *, offset: int = 0, count: int = 100) -> Operation[list[str]]:
    """Names of feeds in the order in which they were made, each shard having its own order."""
    core = client.core
    offset, count = page(offset, count)
    if core.shards == 1:
        found = yield from _feeds_of(core, 0, offset, count)
        return [name for _, name in found]
    every: list[tuple[float, str]] = []
    for shard in range(core.shards):
        every += yield from _first_feeds(core, shard, offset + count)
    return [name for _, name in sorted(every)[offset : offset + count]]


def _first_feeds(core: Core, shard: int, count: int) -> Operation[list[tuple[float, str]]]:
    found: list[tuple[float, str]] = []
    while len(found) < count:
        asked = min(PAGE, count - len(found))
        some = yield from _feeds_of(core, shard, len(found), asked)
        found += some
        if len(some) < asked:
            break
    return found


def _feeds_of(
    core: Core, shard: int, offset: int, count: int
) -> Operation[list[tuple[float, str]]]:
    def decode(reply: list[Any]) -> list[tuple[float, str]]:
        names, made = reply[1][::2], reply[1][1::2]
        return [(float(at), name.decode()) for name, at in zip(names, made, strict=True)]

    return (yield from ask_one(core, shard, build("feeds", decode, offset=offset, count=count)))


def changes(core: Core) -> Operation[list[int]]:
    """How many changes of feeds there were, on each shard."""
    call: Call[int] = build("feeds", lambda reply: int(reply[0]), offset=0, count=1)
    return (yield from ask(core, [(shard, call) for shard in range(core.shards)]))
