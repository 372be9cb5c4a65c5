"""Feed operations take effect once, even if they are repeated."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, FeedExists, FeedNotFound
from tests.support.clients import got
from tests.support.proxy import Way
from tests.support.repeats import happened, mark


async def test_a_feed_is_made_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    way.lose(mark(calm, "feed_make"), moment)

    feed = await got(hr.feeds.create("line", sorted=True))

    assert (way.cuts, feed.sorted) == (1, True)
    assert happened(calm) == ["feed_made"]


async def test_feed_created_by_another_client_meanwhile_is_refused(
    hr: Any, calm: Client, way: Way
) -> None:
    way.lose(
        mark(calm, "feed_make"), "before the request", meanwhile=lambda: print(calm.feed("news"))
    )

    with pytest.raises(FeedExists):
        await got(hr.feeds.create("news"))


async def test_settings_are_replaced_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    calm.feeds.create("news").publish_many([1, 2, 3])
    feed = await got(hr.feed("news"))
    way.lose(mark(calm, "feed_configure"), moment)

    await got(feed.configure(max_length=1))

    assert way.cuts == 1
    assert happened(calm)[4:] == ["feed_configured", "retracted", "retracted"]


async def test_a_feed_is_deleted_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    feed = await got(hr.feeds.create("news"))
    way.lose(mark(calm, "feed_delete"), moment)

    await got(feed.delete())

    assert way.cuts == 1
    assert happened(calm) == ["feed_made", "feed_deleted"]
    with pytest.raises(FeedNotFound):
        await got(feed.delete())


@pytest.mark.parametrize("given", [{}, {"id": "a"}, {"id": "a", "touch": True}], ids=str)
async def test_an_item_is_published_once(
    hr: Any, calm: Client, way: Way, moment: str, given: dict[str, Any]
) -> None:
    feed = await got(hr.feeds.create("news"))
    way.lose(mark(calm, "feed_publish"), moment)

    item_id = await got(feed.publish("x", **given))

    assert way.cuts == 1
    assert happened(calm) == ["feed_made", "published"]
    assert calm.feed("news").all() == {item_id: "x"}


@pytest.mark.parametrize("op", ["feed_numbers", "feed_insert"])
async def test_an_item_of_a_sorted_feed_is_published_once(
    hr: Any, calm: Client, way: Way, moment: str, op: str
) -> None:
    feed = await got(hr.feeds.create("line", sorted=True))
    await got(feed.publish("x", id="x"))
    way.lose(mark(calm, op), moment)

    item_id = await got(feed.publish("y", before="x"))

    assert way.cuts == 1
    assert happened(calm) == ["feed_made", "published", "published"]
    assert calm.feed("line").ids() == [item_id, "x"]


async def test_an_item_is_published_once_although_others_publish_meanwhile(
    hr: Any, calm: Client, way: Way
) -> None:
    feed = await got(hr.feeds.create("news"))
    way.lose(
        mark(calm, "feed_publish"),
        "before the answer",
        meanwhile=lambda: print(calm.feed("news").publish("other", id="other")),
    )

    await got(feed.publish("x", id="x"))

    assert happened(calm) == ["feed_made", "published", "published"]
    assert calm.feed("news").ids() == ["other", "x"]


async def test_an_item_is_moved_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    feed = await got(hr.feeds.create("line", sorted=True))
    await got(feed.publish_many({"a": 1, "b": 2, "c": 3}))
    way.lose(mark(calm, "feed_move"), moment)

    await got(feed.move("c", "b", first=True))

    assert way.cuts == 1
    assert happened(calm)[4:] == ["positioned", "positioned"]
    assert calm.feed("line").ids() == ["c", "b", "a"]


async def test_an_item_is_retracted_once(hr: Any, calm: Client, way: Way, moment: str) -> None:
    feed = await got(hr.feeds.create("news"))
    await got(feed.publish_many({"a": 1, "b": 2}))
    way.lose(mark(calm, "feed_retract"), moment)

    assert await got(feed.retract("a")) == ["a"]

    assert way.cuts == 1
    assert happened(calm)[3:] == ["retracted"]
    assert calm.feed("news").ids() == ["b"]
