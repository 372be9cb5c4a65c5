"""Opening feeds, including feeds that other programs have created."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.compat import common
from headrace.compat.thoonk import NotAllowed, Thoonk, registry
from tests.compat.thoonk.support.steps import keys, tried
from tests.proof import proves
from tests.support.dump import dump


@proves("TD-12", "TD-10")
@pytest.mark.parametrize("kind", ["queue", "job"])
def test_open_completes_a_queue_whose_creator_died(thoonk: Any, hr: Client, kind: str) -> None:
    making = registry.create(Thoonk(hr), "it", {"type": kind})
    wish = next(making)
    while "it" not in hr.feeds.list():
        wish = making.send(hr.core.transport.send(wish.commands))

    feed = thoonk["it"]
    feed.put("item")

    settings = hr.queue("it").settings()
    assert (settings["removes"], settings["on_exists"]) == (kind == "queue", "duplicate")
    assert feed.length() == 1


def test_queue_with_other_settings_is_not_opened(thoonk: Any, hr: Client) -> None:
    hr.queue("mail").configure(lease=5)
    before = dump(hr)

    for call in (thoonk.queue, lambda name: thoonk.create_feed(name, {"type": "queue"})):
        assert "has other settings" in tried(NotAllowed, call, "mail")

    assert dump(hr) == before


def test_open_keeps_the_settings_of_a_queue(thoonk: Any, hr: Client) -> None:
    thoonk.job("steps")
    hr.queue("steps").configure(result_ttl=60, lease=5)

    thoonk.job("steps")

    settings = hr.queue("steps").settings()
    assert (settings["result_ttl"], settings["lease"]) == (60, 5)


@proves("T-08", "TD-01")
def test_thoonk_uses_only_the_keys_of_headrace(thoonk: Any, hr: Client) -> None:
    thoonk.leaf("news").publish("item", "a")
    thoonk.queue("mail").put("item")
    steps = thoonk.job("steps")
    running, stalled, finished = [steps.put("item") for _ in range(3)]
    for _ in range(3):
        steps.get(1)
    steps.stall(stalled)
    steps.finish(finished, "result")

    roles = {key.partition(":")[0] for key in keys(hr)}
    assert roles == {
        *("feeds", "feed", "items", "order", "queues", "settings", "books", "job", "result"),
        *("waiting", "running", "failed", "failures", "failure_types", "results"),
    }
    assert running in steps.get_running()


@proves("T-09")
def test_clients_use_one_feed_concurrently(hr: Client, thoonk: Any) -> None:
    other = Thoonk(hr)
    thoonk.queue("mail")
    served: list[str] = []

    def work(one: Any, name: str) -> None:
        queue = one.queue("mail")
        leaf = one.leaf("news")
        for number in range(10):
            queue.put(f"{name} {number}")
            leaf.publish(name, f"{number}")
        served.extend([queue.get(5) for _ in range(10)])

    with ThreadPoolExecutor() as pool:
        list(pool.map(work, (thoonk, other), ("one", "two")))

    assert sorted(served) == sorted(f"{name} {at}" for name in ("one", "two") for at in range(10))
    assert other.leaf("news").length() == 10
    assert hr.audit().balanced


def test_feeds_of_headrace_are_feeds_of_thoonk(thoonk: Any, hr: Client) -> None:
    hr.feeds.create("news", max_length=3, about="what is new").publish("item", id="a")
    hr.feeds.create("line", sorted=True)

    assert thoonk.get_config("news") == {"type": "leaf", "max_length": 3}
    assert thoonk["news"].get_all() == {"a": "item"}
    assert thoonk["line"].type == "sorted_feed"


def test_feeds_of_several_pages_are_listed(plain: Thoonk, hr: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(common, "PAGE", 2)
    for name in "abcde":
        hr.feeds.create(name)

    assert plain.get_feeds() == set("abcde")


def test_thoonk_opens_by_a_url_or_on_a_client(url: str, hr: Client) -> None:
    with Thoonk(url, hr.core.namespace) as opened:
        opened.queue("mail").put("item")
    assert Thoonk(hr).queue("mail").length() == 1
    with pytest.raises(InvalidArgument, match="pass a Client or a URL"):
        Thoonk(5)  # type: ignore[arg-type]
