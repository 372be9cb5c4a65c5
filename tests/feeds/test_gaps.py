"""Inserting between two items always works, and its cost stays small."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Client, Feed
from headrace.engine.source import source
from headrace.testing import open_with_clock
from tests.model.harness import opened
from tests.proof import proves

INSERTIONS = 3000
LEVELS = INSERTIONS.bit_length()

Way = Callable[[Feed, list[str], str, int], None]


BEGINNING = "local function call_in_batches(command, where, arguments)\n"
COUNTS = "  redis.call('INCRBY', shard .. 'written', #(arguments or {}) / 2)\n"


@pytest.fixture
def line(valkey_url: str) -> Iterator[Feed]:
    """A feed whose scripts count how often items are renumbered."""
    chunks = source("lib/batched_calls").text
    assert BEGINNING in chunks
    hr, _ = opened(valkey_url, {"batched_calls": chunks.replace(BEGINNING, BEGINNING + COUNTS)})
    with hr:
        yield hr.feeds.create("line", sorted=True)


def positions(server: redis.Redis, line: Feed) -> dict[bytes, float]:
    found: Any = server.zrange(line.core.key(0, "order:line"), 0, -1, withscores=True)
    return dict(found)


def at_one_place(line: Feed, model: list[str], item_id: str, _: int) -> None:
    line.publish(0, id=item_id, after="begin")
    model.insert(1, item_id)


def before_the_end(line: Feed, model: list[str], item_id: str, _: int) -> None:
    line.publish(0, id=item_id, before="end")
    model.insert(len(model) - 1, item_id)


def side_by_side(line: Feed, model: list[str], item_id: str, number: int) -> None:
    """Insert in the middle, between the two newest items."""
    at = len(model) // 2
    if number % 2:
        line.publish(0, id=item_id, before=model[at])
    else:
        line.publish(0, id=item_id, after=model[at - 1])
    model.insert(at, item_id)


def anywhere(line: Feed, model: list[str], item_id: str, number: int) -> None:
    at = random.Random(number).randrange(1, len(model))
    line.publish(0, id=item_id, before=model[at])
    model.insert(at, item_id)


def by_a_move(line: Feed, model: list[str], item_id: str, _: int) -> None:
    line.publish(0, id=item_id)
    line.move(item_id, after="begin")
    model.insert(1, item_id)


@proves("TL-04")
@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    [at_one_place, before_the_end, side_by_side, anywhere, by_a_move],
    ids=lambda w: w.__name__,
)
def test_thousands_of_insertions_keep_their_order_and_move_few_others(
    line: Feed, valkey_url: str, way: Way
) -> None:
    line.publish_many({"begin": 0, "end": 0})
    model = ["begin", "end"]
    for number in range(INSERTIONS):
        way(line, model, str(number), number)
    with redis.Redis.from_url(valkey_url) as server:
        found = positions(server, line)
        written = int(server.get(line.core.key(0, "written")) or 0)

    assert [name.decode() for name in found] == model
    assert len(set(found.values())) == len(found)
    assert all(place == int(place) for place in found.values())
    print(f"{written / INSERTIONS:.1f} other items were moved per insertion")
    assert written < 3 * LEVELS * INSERTIONS


@settings(deadline=None, max_examples=25)
@given(start=st.sampled_from([0, 1, 5, 2**53 - 9, 2**53 - 1, 2**52]), count=st.integers(1, 9))
def test_both_ends_of_the_order_have_room(valkey_url: str, start: int, count: int) -> None:
    hr, _ = open_with_clock(valkey_url)
    with hr:
        line = crowded(hr, start, count)
        model = line.ids()
        for number in range(30):
            line.publish(0, id=f"first {number}", first=True)
            line.publish(0, id=f"last {number}")
            model = [f"first {number}", *model, f"last {number}"]

        assert line.ids() == model


def crowded(hr: Client, start: int, count: int) -> Feed:
    """Make a feed whose positions have no gaps."""
    line = hr.feeds.create("line", sorted=True)
    places = [place for place in range(start, start + count) if place < 2**53]
    line.publish_many({f"item {place}": 0 for place in places})
    order = hr.core.key(0, "order:line")
    words = [word for place in places for word in (place, f"item {place}")]
    [reply] = hr.core.transport.send([(0, ("ZADD", order, *words))])
    assert reply == 0
    return line
