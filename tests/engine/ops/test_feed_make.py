"""feed_make, feeds, feed_info: a feed is created with all its settings."""

from __future__ import annotations

import pytest

import headrace
from headrace import Client, FeedExists, FeedNotFound
from headrace.testing import Clock
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump


@proves("T-01")
def test_a_feed_is_made_once(hr: Client) -> None:
    news = hr.feeds.create("news", max_length=5, about="what is new")
    news.publish("x")
    before = dump(hr)

    with pytest.raises(FeedExists, match="opens it") as refused:
        hr.feeds.create("news", sorted=True)

    assert refused.value.feed == "news"
    assert dump(hr) == before
    assert hr.feeds.list() == ["news"]


@proves("T-01", "T-05")
def test_existing_feed_is_opened_unchanged(hr: Client) -> None:
    hr.feeds.create("line", sorted=True, about="one after the other")
    hr.feeds.create("news", max_length=3)
    before = dump(hr)

    assert hr.feed("line").sorted
    assert not hr.feed("news").sorted
    assert hr.feed("news").settings().max_length == 3
    assert dump(hr) == before


@proves("T-01")
def test_missing_feed_is_created_plain_and_without_a_limit(hr: Client) -> None:
    news = hr.feed("news")

    assert not news.sorted
    assert (news.settings().max_length, news.settings().about) == (None, None)
    assert news.ids() == []


@proves("T-02", "TD-12", "T-06")
def test_listener_of_a_new_feed_finds_it_with_its_settings(hr: Client, url: str) -> None:
    with listening(hr, url, "changes:") as listener:
        hr.feeds.create("news", max_length=3, about="what is new")

        [(_, message)] = listener.heard()

    assert message.split(b"\0")[:2] == [b"feed_made", b"news"]
    assert message.split(b"\0")[7] == hr.instance.encode()
    assert hr.feed("news").settings().max_length == 3


@proves("T-06")
def test_every_client_is_an_instance_of_its_own(hr: Client, url: str) -> None:
    with headrace.connect(url, namespace=hr.core.namespace) as other:
        assert len({hr.instance, other.instance, ""}) == 3
        assert other.instance == other.core.instance


def test_feed_stores_its_creation_time(hr: Client, clock: Clock) -> None:
    clock.tick(5)
    hr.feeds.create("news")
    clock.tick(5)

    assert (clock.now - hr.feed("news").settings().created).total_seconds() == 5


@proves("TL-03")
def test_feeds_are_listed_in_the_order_in_which_they_were_made(hr: Client) -> None:
    names = [f"feed {number}" for number in (3, 1, 2)]
    for name in names:
        hr.feeds.create(name)

    assert hr.feeds.list() == names
    assert hr.feeds.list(offset=1, count=1) == names[1:2]
    assert hr.feeds.exists(names[0])
    assert not hr.feeds.exists("feed 4")
    hr.feed(names[0]).delete()
    hr.feeds.create(names[0])
    assert hr.feeds.list() == [*names[1:], names[0]]


@proves("T-07", "T-73")
def test_every_call_on_a_deleted_feed_is_refused(hr: Client) -> None:
    plain, line = hr.feeds.create("news"), hr.feeds.create("line", sorted=True)
    plain.delete()
    line.delete()
    before = dump(hr)

    for feed in (plain, line):
        for attempt in (
            lambda feed=feed: feed.publish("x"),
            lambda feed=feed: feed.publish("x", id="a"),
            lambda feed=feed: feed.publish_many({"a": 1}),
            lambda feed=feed: feed.retract("a"),
            lambda feed=feed: feed.retract(),
            lambda feed=feed: feed.item("a"),
            lambda feed=feed: feed.has("a"),
            feed.item,
            feed.ids,
            feed.all,
            feed.length,
            feed.counts,
            feed.settings,
            feed.configure,
            feed.delete,
            feed.listen,
        ):
            with pytest.raises(FeedNotFound) as refused:
                attempt()
            assert refused.value.feed == feed.name
    with pytest.raises(FeedNotFound):
        line.move("a", first=True)
    assert dump(hr) == before


def test_a_feed_and_a_queue_may_have_the_same_name(hr: Client) -> None:
    hr.queue("news").put("job", id="a")
    feed = hr.feeds.create("news")
    feed.publish("item", id="a")

    assert feed.item("a") == "item"
    feed.delete()
    assert [job.data for job in hr.jobs(["a"])] == ["job"]
    assert hr.audit().problems == []
