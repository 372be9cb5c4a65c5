"""SortedFeed: items keep the position that publishers choose."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.compat.thoonk import ItemDoesNotExist
from tests.compat.thoonk.support.steps import tried
from tests.proof import proves
from tests.support.dump import dump


def line_of(thoonk: Any, *items: str) -> Any:
    line = thoonk.sorted_feed("line")
    for item in items:
        line.append(item)
    return line


@proves("TL-04")
def test_items_are_added_anywhere(thoonk: Any) -> None:
    line = line_of(thoonk)

    made = [
        line.publish("second"),
        line.prepend("first"),
        line.publish_after("1", "third"),
        line.publish_before("1", "between"),
    ]

    assert made == ["1", "2", "3", "4"]
    assert list(line.get_all().values()) == ["first", "between", "second", "third"]
    assert line.get_ids() == ["2", "4", "1", "3"]
    assert line.get_item("4") == "between"


@proves("TL-04")
@pytest.mark.parametrize(
    ("name", "arguments", "order"),
    [
        ("move", (":1", "3"), "312"),
        ("move", ("1:", "3"), "132"),
        ("move", ("begin:", "2"), "213"),
        ("move", (":end", "1"), "231"),
        ("move_before", ("2", "3"), "132"),
        ("move_after", ("3", "1"), "231"),
        ("move_first", ("3",), "312"),
        ("move_last", ("1",), "231"),
    ],
)
def test_items_are_moved(thoonk: Any, name: str, arguments: tuple[str, ...], order: str) -> None:
    line = line_of(thoonk, "a", "b", "c")

    getattr(line, name)(*arguments)

    assert line.get_ids() == list(order)


@proves("TL-04")
def test_item_is_edited_in_its_position(thoonk: Any) -> None:
    line = line_of(thoonk, "a", "b")

    line.edit("1", "edited")

    assert line.get_all() == {"1": "edited", "2": "b"}


@proves("TL-04", "T-16")
def test_missing_item_is_refused_and_nothing_changes(thoonk: Any, hr: Client) -> None:
    line = line_of(thoonk, "a")
    before = dump(hr)

    for call, arguments in (
        (line.move_before, ("9", "1")),
        (line.move_first, ("9",)),
        (line.edit, ("9", "item")),
        (line.retract, ("9",)),
    ):
        tried(ItemDoesNotExist, call, *arguments)
    tried(InvalidArgument, line.move, "1", "1")

    assert dump(hr) == before


@proves("TL-04")
def test_publish_next_to_a_missing_item_is_refused(thoonk: Any) -> None:
    line = line_of(thoonk, "a")

    tried(ItemDoesNotExist, line.publish_before, "9", "item")
    tried(ItemDoesNotExist, line.publish_after, "9", "item")

    assert line.get_all() == {"1": "a"}
    assert line.publishes() == line.length() == 1


@proves("TL-04", "T-15")
def test_item_is_retracted(thoonk: Any) -> None:
    line = line_of(thoonk, "a", "b")

    line.retract("1")

    assert line.get_ids() == ["2"]
    assert not line.has_id("1")


def test_invalid_position_is_refused(thoonk: Any, hr: Client) -> None:
    feed = thoonk.sorted_feed("sorted")
    feed.append("a")
    before = dump(hr)

    for place in (None, 1, b":1"):
        tried(InvalidArgument, feed.move, place, "1")
    tried(InvalidArgument, feed.publish_before, None, "item")
    tried(InvalidArgument, feed.publish_after, None, "item")

    assert dump(hr) == before
