"""A listener of feeds receives each change once, or else the number of missed changes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import headrace
from headrace import AsyncListener, Client, FeedEvent, Unreadable
from headrace.feeds.listening import ChangeReader
from headrace.operations.channel_listener import ListeningState
from headrace.transport.drive import drive
from tests.proof import proves
from tests.support.channels import until_listened_to
from tests.support.clients import CLIENT_KINDS, got, opened
from tests.support.proxy import LATE, Way
from tests.support.repeats import mark
from tests.support.restartable import Restartable
from tests.support.servers import until


async def heard(listening: Any, count: int) -> list[FeedEvent]:
    """Return the next `count` events."""
    if isinstance(listening, AsyncListener):
        return [await anext(listening) for _ in range(count)]
    return await asyncio.to_thread(lambda: [next(listening) for _ in range(count)])


def said(events: list[FeedEvent]) -> list[tuple[Any, ...]]:
    return [(one.kind, one.id, one.missed) if one.id else (one.kind, one.missed) for one in events]


@proves("T-14", "T-15", "T-70", "TL-04")
@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_listener_receives_every_change_with_all_details(
    kind: str, valkey_url: str, calm: Client
) -> None:
    line = calm.feeds.create("line", sorted=True)
    async with opened(kind, valkey_url, namespace=calm.core.namespace) as hr:
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
def test_every_listener_receives_every_change(calm: Client) -> None:
    news = calm.feeds.create("news")
    with news.listen(wait=20) as one, news.listen(wait=20) as other:
        news.publish_many({"a": 1, "b": 2})

        assert [next(one).id, next(one).id] == [next(other).id, next(other).id] == ["a", "b"]


@proves("T-71", "T-02", "T-03", "T-70")
@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_listener_of_all_feeds_receives_new_feeds(
    kind: str, valkey_url: str, calm: Client
) -> None:
    calm.feeds.create("old")
    async with opened(kind, valkey_url, namespace=calm.core.namespace) as hr:
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


@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_listener_continues_after_a_feed_is_recreated(
    kind: str, valkey_url: str, calm: Client
) -> None:
    news = calm.feeds.create("news")
    async with opened(kind, valkey_url, namespace=calm.core.namespace) as hr:
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


# Broken connections.


async def while_away(listening: Any, way: Way, do: Callable[[], Any]) -> Any:
    """Return the first event after a change that the disconnected listener missed."""
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
async def test_reconnected_listener_receives_the_number_of_missed_changes(
    far_client: Any, way: Way, calm: Client
) -> None:
    news = calm.feeds.create("news")
    news.publish_many({"a": 1, "b": 2})
    listening = await got((await got(far_client.feed("news"))).listen(wait=20))
    for count in (1, 3):
        told = await while_away(listening, way, partial(news.publish_many, range(count)))

        assert told == FeedEvent("missed", "news", missed=count)
        news.publish("then", id="then")
        assert [one.id for one in await heard(listening, 1)] == ["then"]
    await got(listening.close())


@proves("T-71")
async def test_listener_of_all_feeds_receives_the_number_of_missed_changes(
    far_client: Any, way: Way, calm: Client
) -> None:
    listening = await got(far_client.feeds.listen(wait=20))

    def make_two() -> None:
        for name in ("a", "b"):
            calm.feeds.create(name).publish_many(range(3))

    assert await while_away(listening, way, make_two) == FeedEvent("missed", "", missed=8)
    calm.feed("a").publish("then", id="then")
    assert [one.id for one in await heard(listening, 1)] == ["then"]
    await got(listening.close())


@pytest.mark.parametrize("times", [1, 3])
async def test_number_of_missed_changes_of_a_deleted_feed_is_unknown(
    far_client: Any, way: Way, calm: Client, times: int
) -> None:
    calm.feeds.create("news").publish_many(range(5))
    listening = await got((await got(far_client.feed("news"))).listen(wait=20))

    told = await while_away(listening, way, lambda: delete_and_make(calm, times))

    assert told == FeedEvent("missed", "news", missed=None)
    calm.feed("news").publish("then", id="then")
    assert [one.id for one in await heard(listening, 1)] == ["then"]
    await got(listening.close())


async def test_listener_continues_with_a_feed_deleted_and_recreated_meanwhile(
    far_client: Any, way: Way, calm: Client
) -> None:
    news = calm.feeds.create("news")
    listening = await got((await got(far_client.feed("news"))).listen(wait=20))

    assert said([await while_away(listening, way, news.delete)]) == [("missed", None)]

    calm.feeds.create("news")
    assert said(await heard(listening, 1)) == [("made", None)]
    await got(listening.close())


async def test_reconnected_listener_that_missed_nothing_receives_nothing(
    far_client: Any, way: Way, calm: Client
) -> None:
    news = calm.feeds.create("news")
    listening = await got((await got(far_client.feed("news"))).listen(wait=20))
    way.close()
    way.open()
    waiting = asyncio.ensure_future(heard(listening, 1))
    await asyncio.to_thread(until_listened_to, calm, "changes:news")

    news.publish("then", id="then")

    assert said(await waiting) == [("published", "then", None)]
    await got(listening.close())


async def test_change_between_subscription_and_check_is_received(
    far_client: Any, way: Way, calm: Client
) -> None:
    news = calm.feeds.create("news")
    listening = await got((await got(far_client.feed("news"))).listen(wait=20))
    way.close()
    news.publish("unheard")
    way.open()
    # The first request is the subscription, the second the check.
    way.lose(mark(calm, "feed_info"), "before the request", meanwhile=lambda: publish_two(news))

    events = await heard(listening, 3)

    assert said(events) == [("missed", 1), ("published", "a", None), ("published", "b", None)]
    await got(listening.close())


def publish_two(news: headrace.Feed) -> None:
    news.publish_many({"a": 1, "b": 2})


async def test_cancelled_check_is_repeated(way: Way, calm: Client) -> None:
    news = calm.feeds.create("news")
    async with opened("async", way.url, namespace=calm.core.namespace) as hr:
        listening = await (await hr.feed("news")).listen()
        way.close()
        news.publish("unheard")
        way.open()
        done = threading.Event()
        way.lose(mark(calm, "feed_info"), LATE, meanwhile=lambda: print(done.wait(20)))
        waiting = asyncio.ensure_future(anext(listening))
        await asyncio.to_thread(until, lambda: way.cuts == 1, "the listener checks the feed")
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        done.set()

        assert said(await heard(listening, 1)) == [("missed", 1)]
        await listening.close()


@pytest.mark.parametrize("kind", CLIENT_KINDS)
async def test_listener_survives_a_restart_of_the_server(kind: str, server: Restartable) -> None:
    async with opened(kind, server.url) as hr:
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


def test_loss_of_data_on_the_server_is_noticed(calm: Client) -> None:
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


# Messages that arrive twice, late or never.


def message(number: int, *, life: int = 5, kind: str = "published", of_shard: int = 0) -> bytes:
    words = (kind, "news", life, number, of_shard, "id", "newest", "", "")
    return "\0".join(map(str, words)).encode()


@pytest.fixture
def one_feed(calm: Client) -> Callable[[bytes], list[FeedEvent]]:
    """The `read` of a reader that has received four changes of a feed, which event 5 created."""
    known = ChangeReader(calm.core, "news")
    [(_, channel)] = known.channels

    def read(given: bytes) -> list[FeedEvent]:
        return list(known.read(channel, given))

    for number in (1, 2, 3, 4):
        assert len(read(message(number))) == 1
    return read


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
def test_numbers_show_old_and_missing_changes(
    one_feed: Callable[[bytes], list[FeedEvent]], number: int, life: int, then: list[Any]
) -> None:
    events = one_feed(message(number, life=life))

    assert [one.missed if one.kind == "missed" else one.kind for one in events] == then


def test_recreation_after_a_received_deletion_is_not_missed(
    one_feed: Callable[[bytes], list[FeedEvent]],
) -> None:
    assert len(one_feed(message(5, kind="feed_deleted"))) == 1

    events = one_feed(message(1, life=9, kind="feed_made"))

    assert [one.kind for one in events] == ["made"]


def test_numbers_of_a_shard_show_old_and_missing_changes(calm: Client) -> None:
    known = ChangeReader(calm.core, "")
    station: ListeningState[FeedEvent]
    station = ListeningState(calm.core, known.channels, known.read, lambda: known.check(station))
    drive(calm.core.transport, known.check(station))
    [(_, channel)] = known.channels

    def kinds(of_shard: int) -> list[Any]:
        events = list(known.read(channel, message(1, of_shard=of_shard)))
        return [one.missed if one.kind == "missed" else one.kind for one in events]

    assert [kinds(1), kinds(1), kinds(4), kinds(3)] == [["published"], [], [2, "published"], []]


def test_unreadable_item_does_not_stop_the_listener(calm: Client, valkey_url: str) -> None:
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
