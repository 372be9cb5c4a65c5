"""feed_publish: publishes items to a plain feed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace import Client, Feed
from headrace.testing import Clock, open_with_clock
from tests.proof import proves
from tests.support.channels import Listener, listening


@pytest.fixture
def news(hr: Client) -> Feed:
    return hr.feeds.create("news")


@pytest.fixture
def listener(hr: Client, news: Feed, url: str) -> Iterator[Listener]:
    with listening(hr, url, f"changes:{news.name}") as found:
        yield found


def told(listener: Listener) -> list[tuple[str, str, str]]:
    """Return kind, id and position of the published changes."""
    parts = [message.split(b"\0", 8) for _, message in listener.heard()]
    return [
        (kind.decode(), i.decode(), place.decode()) for kind, _, _, _, _, i, place, _, _ in parts
    ]


@proves("T-10", "T-13")
def test_item_without_an_id_gets_an_unused_one(news: Feed) -> None:
    ids = [news.publish(number) for number in range(3)]

    assert len(set(ids)) == 3
    assert all(len(item_id) == 16 for item_id in ids)
    assert news.ids() == ids[::-1]
    assert [news.item(item_id) for item_id in ids] == [0, 1, 2]


@proves("T-11", "T-17")
def test_the_newest_is_the_first(news: Feed) -> None:
    for number in "1234":
        assert news.publish("x", id=number) == number

    assert news.ids() == ["4", "3", "2", "1"]
    assert news.ids(order="oldest") == ["1", "2", "3", "4"]


@proves("T-12", "C-07")
def test_existing_item_is_replaced_and_keeps_its_position(news: Feed, listener: Listener) -> None:
    news.publish_many({"a": 1, "b": 2})

    news.publish("edited", id="a")

    assert news.all() == {"b": 2, "a": "edited"}
    assert news.ids() == ["b", "a"]
    assert told(listener)[-1] == ("edited", "a", "")
    assert news.counts().published == 2


@proves("TL-02", "C-07")
def test_a_touched_item_is_the_newest(news: Feed, listener: Listener) -> None:
    news.publish_many({"a": 1, "b": 2})

    news.publish("touched", id="a", touch=True)

    assert news.ids() == ["a", "b"]
    assert news.item("a") == "touched"
    assert told(listener)[-1] == ("edited", "a", "newest")


@proves("T-14", "T-72", "T-20")
def test_the_item_is_the_last_part_of_a_message_and_may_have_any_byte(url: str) -> None:
    hr, _ = open_with_clock(url, codec="raw")
    with hr:
        news = hr.feeds.create("news")
        with listening(hr, url, "changes:news") as listener:
            news.publish(b"a\0b\0\xff", id="x")

            [(_, message)] = listener.heard()

        kind, feed, _, number, _, item_id, place, instance, item = message.split(b"\0", 8)
        assert (kind, feed, number, item_id) == (b"published", b"news", b"2", b"x")
        assert (place, instance, item) == (b"newest", b"", b"a\0b\0\xff")


@proves("TL-01")
def test_bounded_feed_evicts_its_oldest_items(hr: Client, url: str) -> None:
    news = hr.feeds.create("news", max_length=3)
    with listening(hr, url, "changes:news") as listener:
        news.publish_many({"a": 1, "b": 2, "c": 3})
        assert [kind for kind, _, _ in told(listener)] == ["published"] * 3

        news.publish("edited", id="a")
        assert told(listener) == [("edited", "a", "")]
        news.publish("new", id="d")

        assert told(listener) == [("published", "d", "newest"), ("retracted", "a", "")]
    assert news.ids() == ["d", "c", "b"]
    assert news.item("a") is None


@proves("TL-01")
def test_batch_larger_than_max_length_leaves_its_newest_items(hr: Client) -> None:
    news = hr.feeds.create("news", max_length=2)

    news.publish_many({str(number): number for number in range(700)})

    assert news.ids() == ["699", "698"]
    assert news.counts().published == 700


@proves("TL-03")
def test_published_items_are_counted(news: Feed) -> None:
    news.publish("x", id="a")
    news.publish("y", id="a")
    news.publish("z", id="b")
    news.retract("a", "b")

    counts = news.counts()
    assert (counts.items, counts.published, counts.changes) == (0, 2, 6)


def test_every_change_is_in_the_log(hr: Client, news: Feed, clock: Clock) -> None:
    news.publish({"to": "ada"}, id="a")
    clock.tick(-60)
    news.publish("x" * 20_000, id="a")

    made, published, edited = hr.events()
    assert (made.kind, made.queue, made.instance) == ("feed_made", "news", hr.instance)
    assert (published.kind, published.job_id, published.data) == ("published", "a", b'{"to":"ada"}')
    assert (published.change, published.place) == (2, "newest")
    assert (edited.kind, edited.data, edited.left_out) == ("edited", None, 20_002)
    assert edited.at == clock.now
    assert [event.number for event in hr.events()] == [1, 2, 3]


def test_feeds_keep_the_limits_of_the_log(hr: Client, news: Feed) -> None:
    hr.config.set("events_count", 100)

    for _ in range(8):
        news.publish_many(range(250))

    assert len(list(hr.events())) < 1000


def test_feed_calls_run_due_housekeeping(hr: Client, news: Feed, clock: Clock) -> None:
    hr.queue("mail").put("x", start_within=60)
    clock.tick(60)

    news.publish("x")

    assert hr.queue("mail").counts().waiting == 0
    kinds = [event.kind for event in hr.events()]
    assert kinds == ["feed_made", "put", "published", "expired"]
    assert [event.number for event in hr.events()] == [1, 2, 3, 4]


@settings(deadline=None, max_examples=40)
@given(
    name=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40),
    item_id=st.text("{}~:%*[]\\ \u2028😀é0", min_size=1, max_size=20),
    item=st.binary(max_size=2000),
)
@example(name="{}", item_id="after x", item=b"\0")
@example(name=":", item_id="first", item=b"")
@proves("T-20", "T-18")
def test_names_and_items_come_back_as_they_were(
    valkey_url: str, name: str, item_id: str, item: bytes
) -> None:
    hr, _ = open_with_clock(valkey_url, codec="raw", shards=3)
    with hr:
        for is_sorted in (False, True):
            feed = hr.feeds.create(name, sorted=is_sorted)
            assert feed.publish(item, id=item_id) == item_id
            with feed.listen(wait=20) as heard:
                feed.publish(item, id="other")
                feed.publish(item, id=item_id)
                events = [next(heard), next(heard)]
            assert [(one.id, one.item) for one in events] == [("other", item), (item_id, item)]
            assert feed.item(item_id) == item
            assert feed.all() == {item_id: item, "other": item}
            assert feed.retract(item_id) == [item_id]
            assert hr.feeds.list() == [name]
            feed.delete()
