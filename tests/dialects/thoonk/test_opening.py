"""A feed is opened as what it is; what others have made is left alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.compat.thoonk import AsyncThoonk, NotAllowed, Thoonk, registry
from tests.dialects.thoonk.steps import keys, tried
from tests.proof import proves
from tests.support.clients import got
from tests.support.dump import dump


@proves("TD-12", "TD-10")
@pytest.mark.parametrize("kind", ["queue", "job"])
async def test_a_queue_whose_maker_died_at_once_is_what_it_was_to_be(
    thoonk: Any, hr: Client, kind: str
) -> None:
    making = registry.create(Thoonk(hr), "it", {"type": kind})
    wish = next(making)
    while "it" not in hr.feeds.list():
        wish = making.send(hr.core.transport.send(wish.commands))

    feed = await got(thoonk["it"])
    await got(feed.put("item"))

    settings = hr.queue("it").settings()
    assert (settings["removes"], settings["on_exists"]) == (kind == "queue", "duplicate")
    assert await got(feed.length()) == 1


async def test_a_queue_that_behaves_otherwise_is_left_alone(thoonk: Any, hr: Client) -> None:
    hr.queue("mail").configure(lease=5)
    before = dump(hr)

    for call in (thoonk.queue, lambda name: thoonk.create_feed(name, {"type": "queue"})):
        assert "behaves otherwise" in await tried(NotAllowed, call, "mail")

    assert dump(hr) == before


async def test_what_was_set_of_a_queue_stays_when_it_is_opened(thoonk: Any, hr: Client) -> None:
    await got(thoonk.job("steps"))
    hr.queue("steps").configure(result_ttl=60, lease=5)

    await got(thoonk.job("steps"))

    settings = hr.queue("steps").settings()
    assert (settings["result_ttl"], settings["lease"]) == (60, 5)


@proves("T-08", "TD-01")
async def test_thoonk_has_no_keys_of_its_own(thoonk: Any, hr: Client) -> None:
    await got((await got(thoonk.leaf("news"))).publish("item", "a"))
    await got((await got(thoonk.queue("mail"))).put("item"))
    steps = await got(thoonk.job("steps"))
    running, stalled, finished = [await got(steps.put("item")) for _ in range(3)]
    for _ in range(3):
        await got(steps.get(1))
    await got(steps.stall(stalled))
    await got(steps.finish(finished, "result"))

    roles = {key.partition(":")[0] for key in keys(hr)}
    assert roles == {
        *("feeds", "feed", "items", "order", "queues", "settings", "books", "job", "result"),
        *("waiting", "running", "failed", "failures", "failure_types", "results"),
    }
    assert running in await got(steps.get_running())


@proves("T-09")
async def test_clients_of_both_kinds_may_work_on_one_feed_at_once(hr: Client, thoonk: Any) -> None:
    other = Thoonk(hr)
    await got(thoonk.queue("mail"))
    served: list[str] = []

    async def work(one: Any, name: str) -> None:
        queue = await got(one.queue("mail"))
        leaf = await got(one.leaf("news"))
        for number in range(10):
            await got(queue.put(f"{name} {number}"))
            await got(leaf.publish(name, f"{number}"))
        served.extend([await got(queue.get(5)) for _ in range(10)])

    await asyncio.gather(work(thoonk, "one"), asyncio.to_thread(asyncio.run, work(other, "two")))

    assert sorted(served) == sorted(f"{name} {at}" for name in ("one", "two") for at in range(10))
    assert other.leaf("news").length() == 10
    assert hr.audit().balanced


async def test_feeds_of_headrace_are_feeds_of_thoonk(thoonk: Any, hr: Client) -> None:
    hr.feeds.create("news", max_length=3, about="what is new").publish("item", id="a")
    hr.feeds.create("line", sorted=True)

    assert await got(thoonk.get_config("news")) == {"type": "leaf", "max_length": 3}
    assert await got((await got(thoonk["news"])).get_all()) == {"a": "item"}
    assert (await got(thoonk["line"])).type == "sorted_feed"


async def test_all_feeds_are_listed_however_many(
    plain: Thoonk, hr: Client, monkeypatch: Any
) -> None:
    monkeypatch.setattr(registry, "PAGE", 2)
    for name in "abcde":
        hr.feeds.create(name)

    assert plain.get_feeds() == set("abcde")


def test_it_is_opened_by_a_url_or_on_a_client(url: str, hr: Client) -> None:
    with Thoonk(url, hr.core.namespace) as opened:
        opened.queue("mail").put("item")
    assert Thoonk(hr).queue("mail").length() == 1
    with pytest.raises(InvalidArgument, match="give a Client or a URL"):
        Thoonk(5)  # type: ignore[arg-type]


async def test_it_is_opened_by_a_url_where_calls_are_awaited(url: str, hr: Client) -> None:
    async with AsyncThoonk(url, hr.core.namespace) as opened:
        await (await opened.queue("mail")).put("item")
    assert hr.queue("mail").counts().waiting == 1
