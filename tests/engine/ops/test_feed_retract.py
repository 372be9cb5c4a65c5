"""feed_retract: removes items."""

from __future__ import annotations

import pytest

from headrace import Client, Feed
from tests.proof import proves
from tests.support.channels import listening
from tests.support.dump import dump


@pytest.fixture(params=[False, True], ids=["plain", "sorted"])
def feed(hr: Client, request: pytest.FixtureRequest) -> Feed:
    found = hr.feeds.create("news", sorted=request.param)
    found.publish_many(dict.fromkeys("abc", 0))
    return found


@proves("T-15")
def test_retracted_item_leaves_the_order_with_an_event(hr: Client, feed: Feed, url: str) -> None:
    with listening(hr, url, "changes:news") as listener:
        assert feed.retract("b") == ["b"]

        [(_, message)] = listener.heard()

    assert message.split(b"\0")[0] == b"retracted"
    assert message.split(b"\0")[5] == b"b"
    assert sorted(feed.ids()) == ["a", "c"]
    assert (feed.item("b"), feed.has("b"), feed.length()) == (None, False, 2)


@proves("T-16")
def test_unknown_item_is_skipped(hr: Client, feed: Feed) -> None:
    before = dump(hr)

    assert feed.retract("x") == []
    assert feed.retract() == []

    assert dump(hr) == before
    assert feed.retract("x", "c", "a", "c") == ["c", "a"]
    assert feed.ids() == ["b"]


def test_one_call_retracts_hundreds_of_items(hr: Client, feed: Feed) -> None:
    feed.publish_many({str(number): 0 for number in range(600)})

    assert len(feed.retract(*map(str, range(700)))) == 600

    assert sorted(feed.ids()) == ["a", "b", "c"]
    assert [event.number for event in hr.events(count=5000)][-1] == 1 + 3 + 600 + 600
