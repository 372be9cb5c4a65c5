"""feed_delete: deletes a feed with everything in it."""

from __future__ import annotations

import pytest

from headrace import Client, FeedNotFound
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump

KEPT = {"agenda", "events", "log", "meta"}


@proves("T-03", "T-08")
@pytest.mark.parametrize("is_sorted", [False, True])
def test_no_key_of_a_deleted_feed_remains(hr: Client, *, is_sorted: bool) -> None:
    feed = hr.feeds.create("news", sorted=is_sorted, about="new")
    feed.publish_many({str(number): "x" * 2000 for number in range(300)})
    of_feed = {key.split("}:")[1] for key in dump(hr)} - KEPT
    assert of_feed == {"feeds", "feed:news", "items:news", "order:news"}

    feed.delete()

    assert {key.split("}:")[1] for key in dump(hr)} == KEPT
    assert hr.feeds.list() == []


@proves("T-03", "T-06")
def test_listener_receives_the_instance_that_made_the_change(hr: Client, url: str) -> None:
    news = hr.feeds.create("news")
    news.publish("x")
    with listening(hr, url, "changes:news") as listener:
        news.delete()

        [(_, message)] = listener.heard()

    parts = message.split(b"\0")
    assert (parts[0], parts[1], parts[7]) == (b"feed_deleted", b"news", hr.instance.encode())


@proves("T-03")
def test_a_feed_is_deleted_once(hr: Client) -> None:
    news = hr.feeds.create("news")
    news.delete()
    before = dump(hr)

    with pytest.raises(FeedNotFound):
        news.delete()

    assert dump(hr) == before


def test_recreated_feed_is_empty_and_starts_from_one(hr: Client) -> None:
    news = hr.feeds.create("news", max_length=3)
    news.publish("x")
    news.delete()

    again = hr.feeds.create("news")

    assert (again.ids(), again.counts().changes, again.counts().published) == ([], 1, 0)
    assert again.settings().max_length is None


def test_other_feeds_stay(hr: Client) -> None:
    for name in ("a", "a:b", "b"):
        hr.feeds.create(name).publish(name, id="x")

    hr.feed("a").delete()

    assert hr.feeds.list() == ["a:b", "b"]
    assert [hr.feed(name).item("x") for name in hr.feeds.list()] == ["a:b", "b"]
