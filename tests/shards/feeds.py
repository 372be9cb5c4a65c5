"""Feeds live each on one shard; who listens to all of them listens on every shard."""

from __future__ import annotations

import asyncio
from typing import Any

from headrace import AsyncListener, Client
from tests.colours import got
from tests.proof import proves

NAMES = [f"feed {number}" for number in range(12)]


async def next_events(listening: Any, count: int) -> list[Any]:
    if isinstance(listening, AsyncListener):
        return [await anext(listening) for _ in range(count)]
    return await asyncio.to_thread(lambda: [next(listening) for _ in range(count)])


class Feeds:
    """What becomes of feeds, wherever the shards are."""

    @proves("TL-03")
    async def test_feeds_are_spread_and_found(self, hr: Any, calm: Client) -> None:
        for name in NAMES:
            feed = await got(hr.feeds.create(name, max_length=3))
            await got(feed.publish_many({str(number): number for number in range(5)}))

        assert len({calm.core.shard_of(name) for name in NAMES}) > 1
        assert set(calm.feeds.list()) == set(NAMES)
        pages = [await got(hr.feeds.list(offset=offset, count=5)) for offset in (0, 5, 10)]
        assert [name for page in pages for name in page] == calm.feeds.list()
        for name in NAMES:
            assert calm.feed(name).ids() == ["4", "3", "2"]
            await got((await got(hr.feed(name))).delete())
        assert calm.feeds.list() == []

    async def test_a_sorted_feed_keeps_its_order(self, hr: Any, calm: Client) -> None:
        for name in NAMES[:4]:
            line = await got(hr.feeds.create(name, sorted=True))
            await got(line.publish_many(["a", "b", "c"]))
            await got(line.move("3", first=True))
            await got(line.publish("d", after="1"))

            assert calm.feed(name).ids() == ["3", "1", "4", "2"]

    async def test_a_listener_hears_its_feed(self, hr: Any, calm: Client) -> None:
        for name in NAMES[:4]:
            feed = calm.feeds.create(name)
            listening = await got((await got(hr.feed(name))).listen(wait=20))
            feed.publish(name, id="x")

            assert [event.item for event in await next_events(listening, 1)] == [name]
            await got(listening.close())

    @proves("T-71")
    async def test_who_listens_to_all_feeds_hears_every_shard(self, hr: Any, calm: Client) -> None:
        listening = await got(hr.feeds.listen(wait=20))
        for name in NAMES:
            calm.feeds.create(name).publish(name, id=name)

        heard = await next_events(listening, 2 * len(NAMES))

        assert {(event.kind, event.feed) for event in heard} == {
            (kind, name) for kind in ("made", "published") for name in NAMES
        }
        await got(listening.close())
