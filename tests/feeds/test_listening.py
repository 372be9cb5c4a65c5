"""Who listens to feeds hears every change once, and knows how many were missed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

import headrace
from headrace import AsyncListener, Client, FeedEvent, Unreadable
from headrace.feeds.listening import AllFeeds, OneFeed
from headrace.operations.listening import ListeningState
from headrace.testing import open_with_clock
from headrace.transport.drive import drive
from tests.client.repeats.seen import sha
from tests.colours import COLOURS, got, opened
from tests.engine.hearing import until_listened_to
from tests.proof import proves
from tests.proxy import LATE, Way, way_to
from tests.restartable import Restartable, restartable
from tests.servers import until


@pytest.fixture
def calm(valkey_url: str) -> Iterator[Client]:
    client, _ = open_with_clock(valkey_url, namespace=f"heard-{uuid4().hex}")
    with client:
        yield client


@pytest.fixture
def way(valkey_url: str) -> Iterator[Way]:
    with way_to(valkey_url) as found:
        yield found


@pytest.fixture
def server() -> Iterator[Restartable]:
    with restartable() as found:
        yield found


async def heard(listening: Any, count: int) -> list[FeedEvent]:
    """So many events."""
    if isinstance(listening, AsyncListener):
        return [await anext(listening) for _ in range(count)]
    return await asyncio.to_thread(lambda: [next(listening) for _ in range(count)])


def said(events: list[FeedEvent]) -> list[tuple[Any, ...]]:
    return [(one.kind, one.id, one.missed) if one.id else (one.kind, one.missed) for one in events]


@proves("T-14", "T-15", "T-70", "TL-04")
@pytest.mark.parametrize("colour", COLOURS)
async def test_every_change_is_heard_with_all_that_is_to_know(
    colour: str, valkey_url: str, calm: Client
) -> None:
    line = calm.feeds.create("line", sorted=True)
    async with opened(colour, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await got((await got(hr.feed("line"))).listen(wait=20))
        line.publish({"n": 1}, id="a")
        line.publish(None, id="b", before="a")
        line.publish("edited", id="a")
        line.move("b", last=True)
        line.retract("a")
        line.configure(about="else")

        events = await heard(listening, 6)

        assert [(one.kind, one.id, one.item) for one in events] == [
            ("published", "a", {"n": 1}),
            ("published", "b", None),
            ("edited", "a", "edited"),
            ("positioned", "b", None),
            ("retracted", "a", None),
            ("configured", "", None),
        ]
        assert [(one.place, one.after) for one in events] == [
            ("first", None),
            ("first", None),
            (None, None),
            ("after", "a"),
            (None, None),
            (None, None),
        ]
        assert [one.number for one in events] == [2, 3, 4, 5, 6, 7]
        assert {one.feed for one in events} == {"line"}
        assert [one.instance for one in events] == ["", "", "", "", "", calm.instance]
        assert [one.payload for one in events[1:4]] == [b"null", b'"edited"', None]
        await got(listening.close())


@proves("T-19")
def test_every_listener_hears_everything(calm: Client) -> None:
    news = calm.feeds.create("news")
    with news.listen(wait=20) as one, news.listen(wait=20) as other:
        news.publish_many({"a": 1, "b": 2})

        assert [next(one).id, next(one).id] == [next(other).id, next(other).id] == ["a", "b"]


@proves("T-71", "T-02", "T-03", "T-70")
@pytest.mark.parametrize("colour", COLOURS)
async def test_who_listens_to_all_feeds_hears_of_new_ones_too(
    colour: str, valkey_url: str, calm: Client
) -> None:
    calm.feeds.create("old")
    async with opened(colour, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await got(hr.feeds.listen(wait=20))
        calm.feed("old").publish(1, id="a")
        new = calm.feeds.create("new")
        new.publish(2, id="b")
        new.retract("b")
        new.delete()

        events = await heard(listening, 5)

        assert [(one.kind, one.feed, one.id, one.item) for one in events] == [
            ("published", "old", "a", 1),
            ("made", "new", "", None),
            ("published", "new", "b", 2),
            ("retracted", "new", "b", None),
            ("deleted", "new", "", None),
        ]
        await got(listening.close())


@pytest.mark.parametrize("colour", COLOURS)
async def test_a_feed_that_is_deleted_and_made_again_is_listened_to_still(
    colour: str, valkey_url: str, calm: Client
) -> None:
    news = calm.feeds.create("news")
    async with opened(colour, valkey_url, namespace=calm.core.namespace) as hr:
        listening = await got((await got(hr.feed("news"))).listen(wait=20))
        news.publish(1, id="a")
        news.delete()
        calm.feeds.create("news").publish(1, id="b")

        assert said(await heard(listening, 4)) == [
            ("published", "a", None),
            ("deleted", None),
            ("made", None),
            ("published", "b", None),
        ]
        await got(listening.close())


# broken connections


@pytest.fixture(params=COLOURS)
async def away(request: pytest.FixtureRequest, way: Way, calm: Client) -> AsyncIterator[Any]:
    """A client whose way to the server can be closed."""
    async with opened(request.param, way.url, namespace=calm.core.namespace) as hr:
        yield hr


async def while_away(listening: Any, way: Way, do: Callable[[], Any]) -> Any:
    """The first thing that is heard after something was done unheard."""
    way.close()
    do()
    way.open()
    [first] = await heard(listening, 1)
    return first


def delete_and_make(calm: Client, times: int) -> None:
    for _ in range(times):
        calm.feed("news").delete()
        calm.feeds.create("news").publish_many(range(5))


@proves("T-71")
async def test_who_was_away_is_told_how_many_changes_were_missed(
    away: Any, way: Way, calm: Client
) -> None:
    news = calm.feeds.create("news")
    news.publish_many({"a": 1, "b": 2})
    listening = await got((await got(away.feed("news"))).listen(wait=20))
    for count in (1, 3):
        told = await while_away(listening, way, partial(news.publish_many, range(count)))

        assert told == FeedEvent("missed", "news", missed=count)
        news.publish("then", id="then")
        assert [one.id for one in await heard(listening, 1)] == ["then"]
    await got(listening.close())


@proves("T-71")
async def test_who_listens_to_all_feeds_is_told_how_many_changes_were_missed(
    away: Any, way: Way, calm: Client
) -> None:
    listening = await got(away.listen_feeds(wait=20))

    def make_two() -> None:
        for name in ("a", "b"):
            calm.feeds.create(name).publish_many(range(3))

    assert await while_away(listening, way, make_two) == FeedEvent("missed", "", missed=8)
    calm.feed("a").publish("then", id="then")
    assert [one.id for one in await heard(listening, 1)] == ["then"]
    await got(listening.close())


@pytest.mark.parametrize("times", [1, 3])
async def test_how_many_were_missed_of_a_feed_that_was_deleted_cannot_be_known(
    away: Any, way: Way, calm: Client, times: int
) -> None:
    calm.feeds.create("news").publish_many(range(5))
    listening = await got((await got(away.feed("news"))).listen(wait=20))

    told = await while_away(listening, way, lambda: delete_and_make(calm, times))

    assert told == FeedEvent("missed", "news", missed=None)
    calm.feed("news").publish("then", id="then")
    assert [one.id for one in await heard(listening, 1)] == ["then"]
    await got(listening.close())


async def test_a_feed_that_went_unheard_may_come_again(away: Any, way: Way, calm: Client) -> None:
    news = calm.feeds.create("news")
    listening = await got((await got(away.feed("news"))).listen(wait=20))

    assert said([await while_away(listening, way, news.delete)]) == [("missed", None)]

    calm.feeds.create("news")
    assert said(await heard(listening, 1)) == [("made", None)]
    await got(listening.close())


async def test_who_missed_nothing_is_told_nothing(away: Any, way: Way, calm: Client) -> None:
    news = calm.feeds.create("news")
    listening = await got((await got(away.feed("news"))).listen(wait=20))
    way.close()
    way.open()
    waiting = asyncio.ensure_future(heard(listening, 1))
    await asyncio.to_thread(until_listened_to, calm, "changes:news")

    news.publish("then", id="then")

    assert said(await waiting) == [("published", "then", None)]
    await got(listening.close())


async def test_what_is_told_after_the_subscription_and_before_the_check_is_heard(
    away: Any, way: Way, calm: Client
) -> None:
    news = calm.feeds.create("news")
    listening = await got((await got(away.feed("news"))).listen(wait=20))
    way.close()
    news.publish("unheard")
    way.open()
    # The first request is the subscription, the second the check.
    way.lose(sha(calm, "feed_info"), "before the request", meanwhile=lambda: publish_two(news))

    events = await heard(listening, 3)

    assert said(events) == [("missed", 1), ("published", "a", None), ("published", "b", None)]
    await got(listening.close())


def publish_two(news: headrace.Feed) -> None:
    news.publish_many({"a": 1, "b": 2})


async def test_a_check_that_is_cancelled_is_made_later(way: Way, calm: Client) -> None:
    news = calm.feeds.create("news")
    async with opened("awaiting", way.url, namespace=calm.core.namespace) as hr:
        listening = await (await hr.feed("news")).listen()
        way.close()
        news.publish("unheard")
        way.open()
        done = threading.Event()
        way.lose(sha(calm, "feed_info"), LATE, meanwhile=lambda: print(done.wait(20)))
        waiting = asyncio.ensure_future(anext(listening))
        await asyncio.to_thread(until, lambda: way.cuts == 1, "it is checked")
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        done.set()

        assert said(await heard(listening, 1)) == [("missed", 1)]
        await listening.close()


@pytest.mark.parametrize("colour", COLOURS)
async def test_a_listener_outlives_a_server(colour: str, server: Restartable) -> None:
    async with opened(colour, server.url) as hr:
        news = await got(hr.feeds.create("news"))
        listening = await got(news.listen(wait=20))
        await got(news.publish(1, id="a"))
        server.kill()
        server.start()
        await got(news.publish(2, id="b"))

        found = await heard(listening, 2)

        assert said(found) == [("published", "a", None), ("missed", 1)]
        await got(news.publish(3, id="c"))
        assert said(await heard(listening, 1)) == [("published", "c", None)]
        await got(listening.close())


def test_a_server_that_has_lost_data_is_noticed(calm: Client) -> None:
    news = calm.feeds.create("news")
    news.publish_many(range(5))
    with news.listen(wait=20) as listening, calm.feeds.listen(wait=20) as to_all:
        for key, field in (("feed:news", "number"), ("log", "changes")):
            words: Any = ("HSET", calm.core.key(0, key), field, 2)
            calm.core.transport.send([(0, words)])
        for one in (listening, to_all):
            one._state.subscription.disconnect()

            assert said([next(one)]) == [("missed", None)]

        news.publish("then", id="then")
        assert [next(listening).id, next(to_all).id] == ["then", "then"]


# messages that come twice, late or not at all


def message(number: int, *, life: int = 5, kind: str = "published", of_shard: int = 0) -> bytes:
    words = (kind, "news", life, number, of_shard, "id", "newest", "", "")
    return "\0".join(map(str, words)).encode()


@pytest.fixture
def one_feed(calm: Client) -> OneFeed:
    """Knows of the fifth life of a feed, and of four changes in it."""
    known = OneFeed(calm.core, "news")
    for number in (1, 2, 3, 4):
        assert len(list(known.read("", message(number)))) == 1
    return known


@pytest.mark.parametrize(
    ("number", "life", "then"),
    [
        (5, 5, ["published"]),
        (4, 5, []),
        (1, 5, []),
        (99, 4, []),
        (7, 5, [2, "published"]),
        (1, 6, [None, "published"]),
        (3, 6, [None, "published"]),
    ],
)
def test_numbers_tell_what_is_old_and_what_is_missing(
    one_feed: OneFeed, number: int, life: int, then: list[Any]
) -> None:
    events = list(one_feed.read("", message(number, life=life)))

    assert [one.missed if one.kind == "missed" else one.kind for one in events] == then


def test_a_new_life_after_an_end_that_was_heard_is_not_missed(one_feed: OneFeed) -> None:
    assert len(list(one_feed.read("", message(5, kind="feed_deleted")))) == 1

    events = list(one_feed.read("", message(1, life=9, kind="feed_made")))

    assert [one.kind for one in events] == ["made"]


def test_numbers_of_a_shard_tell_the_same(calm: Client) -> None:
    known = AllFeeds(calm.core)
    station: ListeningState[FeedEvent]
    station = ListeningState(calm.core, known.channels, known.read, lambda: known.check(station))
    drive(calm.core.transport, known.check(station))
    [(_, channel)] = known.channels

    def kinds(of_shard: int) -> list[Any]:
        events = list(known.read(channel, message(1, of_shard=of_shard)))
        return [one.missed if one.kind == "missed" else one.kind for one in events]

    assert [kinds(1), kinds(1), kinds(4), kinds(3)] == [["published"], [], [2, "published"], []]


def test_an_item_that_cannot_be_read_stops_nobody(calm: Client, valkey_url: str) -> None:
    news = calm.feeds.create("news")
    with (
        headrace.connect(valkey_url, namespace=calm.core.namespace, codec="raw") as raw,
        news.listen(wait=20) as listening,
    ):
        raw.feed("news").publish(b"\xff", id="a")
        news.publish("well", id="b")

        first = next(listening)
        assert (first.id, first.payload) == ("a", b"\xff")
        with pytest.raises(Unreadable):
            first.item  # noqa: B018
        assert next(listening).item == "well"
