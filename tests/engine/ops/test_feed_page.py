"""feed_page, feed_items: read items by page or by id; reading changes nothing."""

from __future__ import annotations

import pytest

from headrace import Client, Feed
from tests.proof import proves
from tests.support.dump import dump

NAMES = [f"item {number}" for number in range(40)]


@pytest.fixture
def news(hr: Client) -> Feed:
    feed = hr.feeds.create("news")
    feed.publish_many({name: name.upper() for name in NAMES})
    return feed


@pytest.fixture
def line(hr: Client) -> Feed:
    feed = hr.feeds.create("line", sorted=True)
    feed.publish_many({name: name.upper() for name in NAMES})
    return feed


@proves("T-17", "T-74")
def test_pages_come_from_either_end(news: Feed, line: Feed) -> None:
    assert news.ids() == line.ids(order="last") == NAMES[::-1]
    assert news.ids(order="oldest") == line.ids() == NAMES
    assert news.ids(offset=3, count=2) == ["item 36", "item 35"]
    assert line.ids(offset=3, count=2) == ["item 3", "item 4"]
    assert news.ids(offset=39, count=5) == ["item 0"]
    assert news.ids(offset=40) == []


@proves("TL-03")
def test_items_come_in_the_order_of_their_ids(news: Feed, line: Feed) -> None:
    assert list(news.all(count=3).items()) == [(f"item {n}", f"ITEM {n}") for n in (39, 38, 37)]
    assert list(line.all(offset=1, count=1).items()) == [("item 1", "ITEM 1")]
    assert news.all(offset=99) == {}


@proves("T-18", "TD-18", "TL-03")
def test_items_are_found_by_id(hr: Client, news: Feed, line: Feed) -> None:
    assert news.item("item 5") == "ITEM 5"
    assert news.item("nothing") is None
    assert (news.has("item 5"), news.has("nothing")) == (True, False)
    assert (news.item(), line.item()) == ("ITEM 39", "ITEM 0")
    assert hr.feeds.create("empty").item() is None
    assert news.length() == 40


@proves("T-19")
def test_reading_consumes_nothing(hr: Client, news: Feed) -> None:
    before = dump(hr)

    for _ in range(2):
        assert (len(news.ids()), len(news.all()), news.item("item 1")) == (40, 40, "ITEM 1")
        assert (news.length(), news.has("item 1"), news.counts().items) == (40, True, 40)

    assert dump(hr) == before
