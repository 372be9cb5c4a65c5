"""feed_move: moves items of a sorted feed to another position."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client, Feed, InvalidArgument, ItemNotFound
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump


@pytest.fixture
def line(hr: Client) -> Feed:
    feed = hr.feeds.create("line", sorted=True)
    feed.publish_many(dict.fromkeys("abcd", 0))
    return feed


@proves("TL-04")
@pytest.mark.parametrize(
    ("ids", "place", "then", "told"),
    [
        ("c", {"first": True}, "cabd", ["first"]),
        ("b", {"last": True}, "acdb", ["after d"]),
        ("d", {"before": "b"}, "adbc", ["after a"]),
        ("a", {"after": "c"}, "bcad", ["after c"]),
        ("a", {"before": "c"}, "bacd", ["after b"]),
        ("da", {"after": "b"}, "bdac", ["after b", "after d"]),
        ("db", {"first": True}, "dbac", ["first", "after d"]),
        ("ba", {"last": True}, "cdba", ["after d", "after d"]),
        ("cb", {"before": "d"}, "acbd", ["after c"]),
        ("a", {"first": True}, "abcd", []),
        ("d", {"last": True}, "abcd", []),
        ("b", {"after": "a"}, "abcd", []),
        ("b", {"before": "c"}, "abcd", []),
    ],
)
def test_items_move(
    hr: Client, line: Feed, url: str, ids: str, place: dict[str, Any], then: str, told: list[str]
) -> None:
    with listening(hr, url, "changes:line") as listener:
        line.move(*ids, **place)

        parts = [message.split(b"\0") for _, message in listener.heard()]

    assert "".join(line.ids()) == then
    assert [(one[0], one[6].decode()) for one in parts] == [(b"positioned", at) for at in told]
    assert {one[5].decode() for one in parts} <= set(ids)


@proves("TL-04", "T-73")
@pytest.mark.parametrize(
    ("ids", "place"),
    [
        (["x"], {"first": True}),
        (["a", "x"], {"last": True}),
        (["a"], {"before": "x"}),
        (["a"], {"after": "x"}),
    ],
)
def test_unknown_item_is_refused_and_nothing_moves(
    hr: Client, line: Feed, ids: list[str], place: dict[str, Any]
) -> None:
    before = dump(hr)

    with pytest.raises(ItemNotFound) as refused:
        line.move(*ids, **place)

    assert refused.value.item_id == "x"
    assert dump(hr) == before


def test_the_place_must_be_one(hr: Client, line: Feed) -> None:
    before = dump(hr)

    places: list[dict[str, Any]] = [
        {},
        {"first": True, "last": True},
        {"before": "a", "after": "b"},
    ]
    for place in places:
        with pytest.raises(InvalidArgument):
            line.move("c", **place)
    with pytest.raises(InvalidArgument, match="1000"):
        line.move(*map(str, range(1001)), first=True)
    line.move(first=True)

    assert dump(hr) == before


@pytest.mark.parametrize(
    "place", [{"first": True}, {"last": True}, {"before": "d"}, {"after": "d"}], ids=str
)
def test_items_already_in_position_do_not_move(
    hr: Client, line: Feed, place: dict[str, Any]
) -> None:
    line.move("b", "a", **place)
    before = dump(hr)

    line.move("b", "a", **place)

    assert dump(hr) == before
