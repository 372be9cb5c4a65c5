"""Leaf: what is published stays until it is retracted."""

from __future__ import annotations

from typing import Any

import pytest

import headrace
from headrace import Client, InvalidArgument
from headrace.compat.thoonk import FeedExists, ItemDoesNotExist, Thoonk, items
from headrace.feeds import operations
from headrace.testing import open_with_clock
from tests.dialects.thoonk.steps import changes, tried
from tests.proof import proves
from tests.support.clients import got
from tests.support.dump import dump


@proves("T-10", "T-18")
async def test_an_item_without_an_id_gets_one(thoonk: Any) -> None:
    news = await got(thoonk.leaf("news"))

    given = [await got(news.publish("same")), await got(news.publish("same"))]

    assert len(set(given)) == 2
    assert await got(news.get_ids()) == given[::-1]
    assert [await got(news.get_item(one)) for one in given] == ["same", "same"]


@proves("T-11", "T-18")
async def test_an_item_gets_the_id_it_is_published_with(thoonk: Any) -> None:
    news = await got(thoonk.leaf("news"))

    assert await got(news.publish("item", "mine")) == "mine"

    assert await got(news.get_item("mine")) == "item"
    assert await got(news.get_item("yours")) is None


@proves("T-12", "TL-02")
async def test_an_item_published_again_is_replaced_where_it_is(thoonk: Any) -> None:
    news = await got(thoonk.leaf("news"))
    for one in "ab":
        await got(news.publish("old", one))

    await got(news.publish("new", "a"))
    assert await got(news.get_all()) == {"b": "old", "a": "new"}
    assert await got(news.get_ids()) == ["b", "a"]

    await got(news.publish("touched", "a", touch=True))
    assert await got(news.get_ids()) == ["a", "b"]


@proves("T-13", "TD-08", "TD-09", "T-15")
def test_an_item_its_place_and_its_event_change_in_one_step(hr: Client, plain: Thoonk) -> None:
    news = plain.leaf("news")
    for operation in (
        items.publish(news, "item", "a"),
        items.publish(news, "again", "a"),
        items.retract(news, "a"),
    ):
        told = len(list(hr.events()))
        assert changes(hr, operation) == 1
        assert len(list(hr.events())) == told + 1


@proves("T-15")
async def test_a_retracted_item_is_gone(thoonk: Any) -> None:
    news = await got(thoonk.leaf("news"))
    for one in "abc":
        await got(news.publish(one, one))

    await got(news.retract("b"))

    assert await got(news.get_all()) == {"c": "c", "a": "a"}
    assert await got(news.has_id("a"))
    assert not await got(news.has_id("b"))


@proves("T-16", "TD-08")
async def test_retracting_what_is_not_there_changes_nothing(thoonk: Any, hr: Client) -> None:
    news = await got(thoonk.leaf("news"))
    await got(news.publish("item", "a"))
    before = dump(hr)

    assert "'b'" in await tried(ItemDoesNotExist, news.retract, "b")

    assert dump(hr) == before


@proves("TD-02")
async def test_of_equal_items_one_is_retracted(thoonk: Any) -> None:
    news = await got(thoonk.leaf("news"))
    first, second, third = [await got(news.publish("same")) for _ in range(3)]

    await got(news.retract(second))

    assert await got(news.get_ids()) == [third, first]


@proves("T-17")
async def test_ids_are_listed_newest_first(thoonk: Any) -> None:
    news = await got(thoonk.leaf("news"))
    for one in "1234":
        await got(news.publish(f"item {one}", one))

    assert await got(news.get_ids()) == ["4", "3", "2", "1"]


@proves("T-17")
def test_all_of_a_long_feed_are_listed(plain: Thoonk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "PAGE", 2)
    news = plain.leaf("news")
    for one in "12345":
        news.publish(one, one)

    assert news.get_ids() == list(news.get_all()) == list("54321")


@proves("T-19")
async def test_reading_takes_nothing_away(thoonk: Any, hr: Client) -> None:
    news = await got(thoonk.leaf("news"))
    await got(news.publish("item", "a"))
    before = dump(hr)

    for _ in range(2):
        assert await got(news.get_item("a")) == "item"
        assert await got(news.get_all()) == {"a": "item"}
        assert await got(news.get_ids()) == ["a"]

    assert dump(hr) == before


@proves("T-20")
@pytest.mark.parametrize("item", [b"", b"\0\xff", b"a\0b", "grün".encode(), bytes(range(256))])
def test_items_are_bytes_that_nobody_looks_into(url: str, item: bytes) -> None:
    client, _ = open_with_clock(url, codec="raw")
    with client:
        news = Thoonk(client).leaf("news")

        news.publish(item, "a")

        assert news.get_item("a") == item


@proves("T-20")
@pytest.mark.parametrize("item", ["", "grün", "a\0b", b"\xff\0".decode(errors="surrogateescape")])
def test_opened_by_a_url_items_are_texts_without_anything_around(
    url: str, hr: Client, item: str
) -> None:
    with Thoonk(url, hr.core.namespace) as opened:
        news = opened.leaf("news")
        news.publish(item, "a")
        assert news.get_item("a") == item

    with headrace.connect(url, namespace=hr.core.namespace, codec="raw") as raw:
        assert raw.feed("news").item("a") == item.encode(errors="surrogateescape")


@proves("TD-18")
async def test_without_an_id_the_newest_item_is_meant(thoonk: Any) -> None:
    news = await got(thoonk.leaf("news"))
    assert await got(news.get_item()) is None
    for one in "ab":
        await got(news.publish(f"item {one}", one))

    assert await got(news.get_item()) == "item b"


@proves("TL-01")
async def test_a_bounded_feed_loses_its_oldest_but_not_by_an_edit(thoonk: Any) -> None:
    news = await got(thoonk.leaf("news", {"max_length": 3}))
    for one in "abcd":
        await got(news.publish("item", one))
    assert await got(news.get_ids()) == ["d", "c", "b"]

    await got(news.publish("edited", "b"))
    assert await got(news.get_ids()) == ["d", "c", "b"]

    await got(thoonk.set_config("news", {"max_length": 1}))
    assert await got(news.get_all()) == {"d": "item"}


@proves("TL-03")
async def test_a_feed_tells_what_it_has(thoonk: Any) -> None:
    news = await got(thoonk.leaf("news"))
    for one in ("a", "b", "a"):
        await got(news.publish("item", one))
    await got(news.retract("b"))

    assert await got(news.length()) == 1
    assert await got(news.publishes()) == 2
    assert await got(thoonk.get_feeds()) == {"news"}


@pytest.mark.parametrize("given", ["", "a\0b", 5, "x" * 300])
async def test_an_id_that_cannot_be_one_is_refused(thoonk: Any, hr: Client, given: Any) -> None:
    news = await got(thoonk.leaf("news"))
    before = dump(hr)

    for call in (lambda one: news.publish("item", one), news.retract, news.get_item, news.has_id):
        await tried(InvalidArgument, call, given)

    assert dump(hr) == before


def test_a_leaf_is_a_feed_in_our_own_words(hr: Client, plain: Thoonk) -> None:
    plain.leaf("news").publish({"title": "Bread"}, "a")

    assert hr.feed("news").all() == {"a": {"title": "Bread"}}
    assert operations.kind_of(plain.feed("news")) == "plain"
    with pytest.raises(FeedExists):
        hr.feeds.create("news")
