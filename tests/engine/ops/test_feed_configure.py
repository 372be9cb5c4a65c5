"""feed_configure: replaces all settings of a feed."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Client
from headrace.engine.call import Call, build
from headrace.operations.requests import ask_one
from headrace.transport.drive import drive
from tests.proof import proves
from tests.support.channels import listening

EVICTED_AT_ONCE = 1000


@proves("T-04")
def test_settings_are_replaced_not_merged(hr: Client) -> None:
    news = hr.feeds.create("news", max_length=3, about="what is new")

    news.configure(about="something else")
    assert (news.settings().max_length, news.settings().about) == (None, "something else")
    news.configure(max_length=2)
    assert (news.settings().max_length, news.settings().about) == (2, None)


@proves("T-04", "T-06")
def test_listener_receives_the_instance_that_made_the_change(hr: Client, url: str) -> None:
    news = hr.feeds.create("news")
    with listening(hr, url, "changes:news") as listener:
        news.configure(about="else")

        [(_, message)] = listener.heard()

    parts = message.split(b"\0")
    assert (parts[0], parts[1], parts[7]) == (b"feed_configured", b"news", hr.instance.encode())


@proves("TL-01")
def test_smaller_limit_evicts_at_once_with_events(hr: Client, url: str) -> None:
    news = hr.feeds.create("news")
    news.publish_many({str(number): number for number in range(5)})
    with listening(hr, url, "changes:news") as listener:
        news.configure(max_length=2)

        told = [message.split(b"\0") for _, message in listener.heard()]

    assert news.ids() == ["4", "3"]
    assert [parts[0] for parts in told] == [b"feed_configured", *[b"retracted"] * 3]
    assert [parts[5] for parts in told[1:]] == [b"0", b"1", b"2"]


def configure(hr: Client, max_length: int, *, continued: bool) -> Any:
    call: Call[Any] = build(
        "feed_configure",
        lambda reply: reply,
        feed="news",
        kind="plain",
        max_length=max_length,
        about="",
        instance="i",
        continued=int(continued),
    )
    return drive(hr.core.transport, ask_one(hr.core, 0, call))


def test_many_are_evicted_in_steps(hr: Client) -> None:
    news = hr.feeds.create("news")
    news.publish_many({str(number): 0 for number in range(2 * EVICTED_AT_ONCE + 10)})

    assert configure(hr, 5, continued=False) == 0
    assert news.length() == EVICTED_AT_ONCE + 10
    assert configure(hr, 5, continued=True) == 0
    assert configure(hr, 5, continued=True) == 1

    assert news.length() == 5
    kinds = [event.kind for event in hr.events(count=10_000)]
    assert kinds.count("feed_configured") == 1
    assert kinds.count("retracted") == 2 * EVICTED_AT_ONCE + 5


@proves("TL-01")
def test_interrupted_eviction_is_continued_by_later_publishes(hr: Client) -> None:
    news = hr.feeds.create("news")
    news.publish_many({str(number): 0 for number in range(EVICTED_AT_ONCE + 10)})
    assert configure(hr, 5, continued=False) == 0
    assert news.length() == 10

    news.publish("edited", id="1009")
    assert news.length() == 10
    news.publish("new", id="new")

    assert news.length() == 5
    assert news.ids(count=1) == ["new"]


@pytest.mark.parametrize("max_length", [None, 1, 5000])
def test_limit_accepts_every_valid_value(hr: Client, max_length: int | None) -> None:
    news = hr.feeds.create("news")
    news.publish_many([1, 2])

    news.configure(max_length=max_length)

    assert news.length() == min(2, max_length or 2)
