"""Leaf: published items stay until they are retracted."""

from __future__ import annotations

from typing import Any

import pytest

import headrace
from headrace import Client, InvalidArgument
from headrace.compat import common
from headrace.compat.thoonk import FeedExists, ItemDoesNotExist, Thoonk
from headrace.feeds import operations
from headrace.testing import open_with_clock
from tests.compat.thoonk.support.steps import changes, operation_of, tried
from tests.proof import proves
from tests.support.dump import dump


@proves("T-10", "T-18")
def test_item_without_an_id_gets_one(thoonk: Any) -> None:
    news = thoonk.leaf("news")

    given = [news.publish("same"), news.publish("same")]

    assert len(set(given)) == 2
    assert news.get_ids() == given[::-1]
    assert [news.get_item(one) for one in given] == ["same", "same"]


@proves("T-11", "T-18")
def test_item_gets_the_given_id(thoonk: Any) -> None:
    news = thoonk.leaf("news")

    assert news.publish("item", "mine") == "mine"

    assert news.get_item("mine") == "item"
    assert news.get_item("yours") is None


@proves("T-12", "TL-02")
def test_item_published_again_is_replaced_in_its_position(thoonk: Any) -> None:
    news = thoonk.leaf("news")
    for one in "ab":
        news.publish("old", one)

    news.publish("new", "a")
    assert news.get_all() == {"b": "old", "a": "new"}
    assert news.get_ids() == ["b", "a"]

    news.publish("touched", "a", touch=True)
    assert news.get_ids() == ["a", "b"]


@proves("T-13", "TD-08", "TD-09", "T-15")
def test_item_position_and_event_change_in_one_step(hr: Client, plain: Thoonk) -> None:
    news = plain.leaf("news")
    for operation in (
        operation_of(news, "publish", "item", "a"),
        operation_of(news, "publish", "again", "a"),
        operation_of(news, "retract", "a"),
    ):
        logged = len(list(hr.events()))
        assert changes(hr, operation) == 1
        assert len(list(hr.events())) == logged + 1


@proves("T-15")
def test_retracted_item_is_gone(thoonk: Any) -> None:
    news = thoonk.leaf("news")
    for one in "abc":
        news.publish(one, one)

    news.retract("b")

    assert news.get_all() == {"c": "c", "a": "a"}
    assert news.has_id("a")
    assert not news.has_id("b")


@proves("T-16", "TD-08")
def test_retract_of_a_missing_item_changes_nothing(thoonk: Any, hr: Client) -> None:
    news = thoonk.leaf("news")
    news.publish("item", "a")
    before = dump(hr)

    assert "'b'" in tried(ItemDoesNotExist, news.retract, "b")

    assert dump(hr) == before


@proves("TD-02")
def test_retract_removes_one_of_several_equal_items(thoonk: Any) -> None:
    news = thoonk.leaf("news")
    first, second, third = [news.publish("same") for _ in range(3)]

    news.retract(second)

    assert news.get_ids() == [third, first]


@proves("T-17")
def test_ids_are_listed_newest_first(thoonk: Any) -> None:
    news = thoonk.leaf("news")
    for one in "1234":
        news.publish(f"item {one}", one)

    assert news.get_ids() == ["4", "3", "2", "1"]


@proves("T-17")
def test_ids_of_several_pages_are_listed(plain: Thoonk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "PAGE", 2)
    news = plain.leaf("news")
    for one in "12345":
        news.publish(one, one)

    assert news.get_ids() == list(news.get_all()) == list("54321")


@proves("T-19")
def test_reading_removes_nothing(thoonk: Any, hr: Client) -> None:
    news = thoonk.leaf("news")
    news.publish("item", "a")
    before = dump(hr)

    for _ in range(2):
        assert news.get_item("a") == "item"
        assert news.get_all() == {"a": "item"}
        assert news.get_ids() == ["a"]

    assert dump(hr) == before


@proves("T-20")
@pytest.mark.parametrize("item", [b"", b"\0\xff", b"a\0b", "grün".encode(), bytes(range(256))])
def test_items_are_opaque_bytes(url: str, item: bytes) -> None:
    client, _ = open_with_clock(url, codec="raw")
    with client:
        news = Thoonk(client).leaf("news")

        news.publish(item, "a")

        assert news.get_item("a") == item


@proves("T-20")
@pytest.mark.parametrize("item", ["", "grün", "a\0b", b"\xff\0".decode(errors="surrogateescape")])
def test_items_are_plain_text_if_opened_by_a_url(url: str, hr: Client, item: str) -> None:
    with Thoonk(url, hr.core.namespace) as opened:
        news = opened.leaf("news")
        news.publish(item, "a")
        assert news.get_item("a") == item

    with headrace.connect(url, namespace=hr.core.namespace, codec="raw") as raw:
        assert raw.feed("news").item("a") == item.encode(errors="surrogateescape")


@proves("TD-18")
def test_get_item_without_an_id_returns_the_newest(thoonk: Any) -> None:
    news = thoonk.leaf("news")
    assert news.get_item() is None
    for one in "ab":
        news.publish(f"item {one}", one)

    assert news.get_item() == "item b"


@proves("TL-01")
def test_publish_evicts_the_oldest_item_but_an_edit_does_not(thoonk: Any) -> None:
    news = thoonk.leaf("news", {"max_length": 3})
    for one in "abcd":
        news.publish("item", one)
    assert news.get_ids() == ["d", "c", "b"]

    news.publish("edited", "b")
    assert news.get_ids() == ["d", "c", "b"]

    thoonk.set_config("news", {"max_length": 1})
    assert news.get_all() == {"d": "item"}


@proves("TL-03")
def test_length_and_has_id_describe_the_feed(thoonk: Any) -> None:
    news = thoonk.leaf("news")
    for one in ("a", "b", "a"):
        news.publish("item", one)
    news.retract("b")

    assert news.length() == 1
    assert news.publishes() == 2
    assert thoonk.get_feeds() == {"news"}


@pytest.mark.parametrize("given", ["", "a\0b", 5, "x" * 300])
def test_invalid_id_is_refused(thoonk: Any, hr: Client, given: Any) -> None:
    news = thoonk.leaf("news")
    before = dump(hr)

    for call in (lambda one: news.publish("item", one), news.retract, news.get_item, news.has_id):
        tried(InvalidArgument, call, given)

    assert dump(hr) == before


def test_leaf_is_a_headrace_feed(hr: Client, plain: Thoonk) -> None:
    plain.leaf("news").publish({"title": "Bread"}, "a")

    assert hr.feed("news").all() == {"a": {"title": "Bread"}}
    assert operations.kind_of(plain.feed("news")) == "plain"
    with pytest.raises(FeedExists):
        hr.feeds.create("news")
