"""Many clients work on one feed at the same time, and none sees a half-finished change."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

import headrace
from headrace import Feed
from tests.proof import proves

THREADS = 4
TIMES = 60
LONGEST = 10


def work(feed: Feed, number: int) -> int:
    """Publish, edit, touch and retract; return how many items were removed."""
    retracted = 0
    for turn in range(TIMES):
        item_id = f"{number}-{turn}"
        feed.publish(turn, id=item_id)
        feed.publish("shared", id="shared", touch=turn % 3 == 0)
        if turn % 5 == 0:
            retracted += len(feed.retract(item_id))
        assert len(feed.ids()) <= LONGEST
    return retracted


@proves("T-09", "T-13", "TD-08")
@pytest.mark.slow
async def test_concurrent_publishers_leave_no_gaps_in_the_numbers(valkey_url: str) -> None:
    namespace = f"many-{uuid4().hex}"
    with (
        headrace.connect(valkey_url, namespace=namespace) as hr,
        headrace.connect(valkey_url, namespace=namespace) as other,
    ):
        feed = hr.feeds.create("news", max_length=LONGEST)
        async with await headrace.connect_async(valkey_url, namespace=namespace) as ahr:
            afeed = await ahr.feed("news")
            listening, alistening = feed.listen(wait=20), await afeed.listen(wait=20)
            loop = asyncio.get_running_loop()
            with ThreadPoolExecutor(THREADS) as threads:
                works = [
                    loop.run_in_executor(threads, work, client.feed("news"), number)
                    for number, client in enumerate([hr, other] * (THREADS // 2))
                ]
                for turn in range(TIMES):
                    await afeed.publish(turn, id=f"a-{turn}")
                await asyncio.gather(*works)
            count = feed.counts().changes
            heard = [next(listening) for _ in range(count - 1)]
            aheard = [await anext(alistening) for _ in range(count - 1)]
            listening.close()
            await alistening.close()

        assert [event.number for event in heard] == list(range(2, count + 1))
        assert aheard == heard
        order: list[str] = []
        for event in heard:
            if event.id in order and (event.kind == "retracted" or event.place):
                order.remove(event.id)
            if event.place:
                order.append(event.id)
        assert feed.ids(order="oldest") == order
        assert set(feed.all()) == set(order)
        published = [event for event in heard if event.kind == "published"]
        assert feed.counts().published == len(published)
        logged = [event.change for event in hr.events(count=10_000) if event.queue == "news"]
        assert logged == list(range(1, count + 1))
