"""Each feed lives on one shard; a listener of all feeds subscribes on every shard."""

from __future__ import annotations

from typing import Any

from headrace import Client
from tests.proof import proves
from tests.support.clients import got
from tests.support.shards import next_events

NAMES = [f"feed {number}" for number in range(12)]


@proves("TL-03")
async def test_feeds_are_on_several_shards_and_listed_together(hr: Any, calm: Client) -> None:
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


async def test_a_sorted_feed_keeps_its_order(hr: Any, calm: Client) -> None:
    for name in NAMES[:4]:
        line = await got(hr.feeds.create(name, sorted=True))
        await got(line.publish_many(["a", "b", "c"]))
        await got(line.move("3", first=True))
        await got(line.publish("d", after="1"))

        assert calm.feed(name).ids() == ["3", "1", "4", "2"]


async def test_listener_receives_its_feed(hr: Any, calm: Client) -> None:
    for name in NAMES[:4]:
        feed = calm.feeds.create(name)
        listening = await got((await got(hr.feed(name))).listen(wait=20))
        feed.publish(name, id="x")

        assert [event.item for event in await next_events(listening, 1)] == [name]
        await got(listening.close())


@proves("T-71")
async def test_listener_of_all_feeds_receives_every_shard(hr: Any, calm: Client) -> None:
    listening = await got(hr.feeds.listen(wait=20))
    for name in NAMES:
        calm.feeds.create(name).publish(name, id=name)

    heard = await next_events(listening, 2 * len(NAMES))

    assert {(event.kind, event.feed) for event in heard} == {
        (kind, name) for kind in ("made", "published") for name in NAMES
    }
    await got(listening.close())
