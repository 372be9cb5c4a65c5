"""feed_insert, feed_numbers: items of a sorted feed."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, Feed, InvalidArgument, ItemNotFound
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump


@pytest.fixture
def line(hr: Client) -> Feed:
    return hr.feeds.create("line", sorted=True)


@proves("TL-04")
def test_ids_are_numbers_by_a_counter(line: Feed) -> None:
    assert [line.publish(item) for item in "abc"] == ["1", "2", "3"]
    assert line.publish_many(["d", "e"]) == ["4", "5"]
    assert line.ids() == ["1", "2", "3", "4", "5"]
    line.retract("5")
    assert line.publish("f") == "6"


@proves("TL-04")
def test_numeric_id_chosen_by_a_caller_is_not_generated_again(line: Feed) -> None:
    line.publish("mine", id="2")
    line.publish("also", id="0007")
    line.publish("large", id="9" * 16)

    assert line.publish_many(["a", "b"]) == ["3", "4"]


@proves("TL-04")
def test_items_are_put_where_they_are_wanted(line: Feed) -> None:
    line.publish("a", id="a")
    line.publish("b", id="b")
    line.publish("c", id="c", first=True)
    line.publish("d", id="d", before="b")
    line.publish("e", id="e", after="a")

    assert line.ids() == ["c", "a", "e", "d", "b"]
    assert line.ids(order="last") == ["b", "d", "e", "a", "c"]


@proves("TL-04")
def test_inserted_items_keep_their_given_order(line: Feed) -> None:
    line.publish_many({"a": 1, "z": 2})

    line.publish_many({f"first {n}": n for n in range(3)}, first=True)
    line.publish_many({f"after {n}": n for n in range(600)}, after="a")
    line.publish_many({f"before {n}": n for n in range(3)}, before="z")

    first = [f"first {n}" for n in range(3)]
    after, before = [f"after {n}" for n in range(600)], [f"before {n}" for n in range(3)]
    assert line.ids() == [*first, "a", *after, *before, "z"]


@proves("TL-04")
def test_existing_item_is_edited_in_place(line: Feed) -> None:
    line.publish_many({"a": 1, "b": 2, "c": 3})

    line.publish("edited", id="b")

    assert line.ids() == ["a", "b", "c"]
    assert line.item("b") == "edited"


def test_existing_item_moves_to_the_given_position(line: Feed, hr: Client, url: str) -> None:
    line.publish_many({"a": 1, "b": 2, "c": 3})
    with listening(hr, url, "changes:line") as listener:
        line.publish("moved", id="c", first=True)
        line.publish("there", id="c", before="a")

        told = [message.split(b"\0") for _, message in listener.heard()]

    assert line.ids() == ["c", "a", "b"]
    assert [(parts[0], parts[6]) for parts in told] == [(b"edited", b"first"), (b"edited", b"")]


@proves("TL-04")
@pytest.mark.parametrize("place", [{"before": "missing"}, {"after": "missing"}], ids=str)
def test_unknown_reference_item_is_refused_and_nothing_changes(
    hr: Client, line: Feed, place: dict[str, Any]
) -> None:
    line.publish("a", id="a")
    before = dump(hr)

    with pytest.raises(ItemNotFound, match="has no item 'missing'; nothing was changed") as refused:
        line.publish("b", id="b", **place)

    assert (refused.value.feed, refused.value.item_id) == ("line", "missing")
    assert dump(hr) == before


def test_item_cannot_be_its_own_neighbour(hr: Client, line: Feed) -> None:
    line.publish("a", id="a")
    before = dump(hr)

    for attempt in (
        lambda: line.publish("b", id="a", before="a"),
        lambda: line.publish_many({"b": 1, "a": 1}, after="a"),
        lambda: line.move("a", after="a"),
    ):
        with pytest.raises(InvalidArgument, match="itself"):
            attempt()

    assert dump(hr) == before


def test_sorted_feed_refuses_newest_positions_and_a_limit(hr: Client, line: Feed) -> None:
    for attempt in (
        lambda: line.publish("a", touch=True),
        lambda: line.configure(max_length=5),
        lambda: hr.feeds.create("other", sorted=True, max_length=5),
        lambda: line.ids(order="newest"),
        lambda: line.publish("a", first=True, before="b"),
    ):
        with pytest.raises(InvalidArgument):
            attempt()


def test_plain_feed_refuses_positions(hr: Client) -> None:
    news = hr.feeds.create("news")
    for attempt in (
        lambda: news.publish("a", first=True),
        lambda: news.publish("a", before="b"),
        lambda: news.publish_many(["a"], after="b"),
        lambda: news.move("a", first=True),
        lambda: news.ids(order="first"),
    ):
        with pytest.raises(InvalidArgument):
            attempt()


def test_published_items_are_counted(line: Feed) -> None:
    line.publish_many(["a", "b"])
    line.publish("edited", id="1")

    assert (line.counts().items, line.counts().published, line.counts().changes) == (2, 2, 4)
