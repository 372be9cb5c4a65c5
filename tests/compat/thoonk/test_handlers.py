"""Handlers are called when any client changes feeds and items."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.compat.thoonk import (
    Empty,
    FeedDoesNotExist,
    FeedExists,
    ItemDoesNotExist,
    JobDoesNotExist,
    JobNotPending,
    NotAllowed,
    NotListening,
    Thoonk,
)
from headrace.errors import HeadraceError
from tests.compat.thoonk.support.recorded import RecordedNotices, all_of
from tests.compat.thoonk.support.steps import tried
from tests.proof import proves


@proves("T-02", "T-03", "T-04", "T-70", "T-71")
def test_created_configured_and_deleted_feeds_are_notified(listening: Any, plain: Thoonk) -> None:
    notices = all_of(listening)

    for kind in ("leaf", "queue"):
        plain.create_feed("it", {"type": kind})
        plain.set_config("it", {"colour": "red"})
        plain.delete_feed("it")

        expected = [("create", "it"), ("config", "it"), ("delete", "it")]
        assert notices.next(3) == expected


@proves("T-02", "T-06")
def test_own_false_skips_the_changes_of_the_same_client(
    listening: Any, plain: Thoonk, hr: Client
) -> None:
    notices = RecordedNotices()
    listening.register_handler("create", notices.handler("create"), own=False)
    with hr.feeds.listen(wait=20) as events:
        listening.leaf("mine")
        plain.leaf("theirs")

        heard = [next(events), next(events)]

    assert notices.next(1) == [("create", "theirs")]
    assert [(one.feed, one.instance) for one in heard] == [
        ("mine", listening.instance),
        ("theirs", plain.instance),
    ]
    assert listening.instance != plain.instance == hr.instance


@proves("T-12", "T-14", "T-15", "T-16", "T-70")
def test_published_edited_and_retracted_items_are_notified(listening: Any, plain: Thoonk) -> None:
    notices = all_of(listening)
    news = plain.leaf("news")

    news.publish("item", "a")
    news.publish("edited", "a")
    with pytest.raises(ItemDoesNotExist):
        news.retract("b")
    news.retract("a")

    assert notices.next(4) == [
        ("create", "news"),
        ("publish", "news", "item", "a"),
        ("edit", "news", "edited", "a"),
        ("retract", "news", "a"),
    ]


@proves("T-71")
def test_changes_of_existing_and_new_feeds_are_notified(
    url: str, hr: Client, plain: Thoonk
) -> None:
    old = plain.leaf("old")
    with Thoonk(url, hr.core.namespace, listen=True) as listening:
        notices = all_of(listening)
        old.publish("item", "a")
        plain.leaf("new").publish("item", "b")

        assert notices.next(3) == [
            ("publish", "old", '"item"', "a"),
            ("create", "new"),
            ("publish", "new", '"item"', "b"),
        ]


@proves("T-72", "T-14")
@pytest.mark.parametrize("item", ["a\0b", "\0", "", {"title": "\0"}])
def test_notified_item_may_contain_zero_bytes(listening: Any, plain: Thoonk, item: Any) -> None:
    notices = all_of(listening)

    plain.leaf("news").publish(item, "a")

    assert notices.next(2) == [("create", "news"), ("publish", "news", item, "a")]
    for call in (plain.leaf, lambda name: plain.leaf("news").publish("item", name)):
        tried(InvalidArgument, call, "a\0b")


@proves("T-19")
def test_every_listener_receives_every_change(listening: Any, plain: Thoonk, hr: Client) -> None:
    notices, others = all_of(listening), RecordedNotices()
    with hr.feeds.listen(wait=20) as events:
        other = Thoonk(hr, listen=True)
        other.register_handler("publish", others.handler("publish"))
        plain.leaf("news").publish("item", "a")

        expected = ("publish", "news", "item", "a")
        assert notices.next(2)[1] == others.next(1)[0] == expected
        assert [next(events).kind for _ in range(2)] == ["made", "published"]
        other.close()


@proves("TL-01", "TL-04")
def test_evicted_and_moved_items_are_notified(listening: Any, plain: Thoonk) -> None:
    notices = all_of(listening)
    news = plain.leaf("news", {"max_length": 1})
    news.publish("item", "a")
    news.publish("item", "b")
    line = plain.sorted_feed("line")
    line.publish("x")
    line.publish("y")
    line.move_first("2")
    line.move_last("2")

    assert (notices.next(9))[1:] == [
        ("publish", "news", "item", "a"),
        ("publish", "news", "item", "b"),
        ("retract", "news", "a"),
        ("create", "line"),
        ("publish", "line", "x", "1"),
        ("publish", "line", "y", "2"),
        ("position", "line", "2", "begin:"),
        ("position", "line", "2", "1:"),
    ]


@proves("T-70")
def test_changes_in_queues_are_not_notified(listening: Any, plain: Thoonk) -> None:
    notices = all_of(listening)
    steps = plain.job("steps")
    steps.put("item")
    steps.finish(steps.get(1).id)
    plain.leaf("news")

    assert notices.next(2) == [("create", "steps"), ("create", "news")]


def test_handler_that_fails_does_not_stop_the_others(
    listening: Any, plain: Thoonk, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("no such luck")

    listening.register_handler("create", fails)
    notices = all_of(listening)
    with caplog.at_level(logging.ERROR, "headrace.compat.thoonk"):
        plain.leaf("a")
        plain.leaf("b")

        assert notices.next(2) == [("create", "a"), ("create", "b")]

    assert "a handler failed: feed 'a', event made" in caplog.text
    assert "no such luck" in caplog.text


@proves("T-73")
def test_handler_without_listen_is_refused(thoonk: Any, listening: Any) -> None:
    tried(NotListening, thoonk.register_handler, "create", print)
    tried(InvalidArgument, listening.register_handler, "birth", print)
    tried(InvalidArgument, listening.register_handler, "create", "print")


@proves("T-73")
def test_exceptions_have_the_names_of_thoonk(thoonk: Any) -> None:
    news, mail = thoonk.leaf("news"), thoonk.queue("mail")
    steps = thoonk.job("steps")
    errors: list[tuple[type[HeadraceError], Callable[..., Any], tuple[Any, ...]]] = [
        (FeedExists, thoonk.create_feed, ("news",)),
        (FeedDoesNotExist, thoonk.delete_feed, ("olds",)),
        (ItemDoesNotExist, news.retract, ("a",)),
        (Empty, mail.get, (0.01,)),
        (JobDoesNotExist, steps.finish, ("a",)),
        (JobNotPending, steps.cancel, ("a",)),
        (NotAllowed, thoonk.queue, ("news",)),
        (NotListening, thoonk.register_handler, ("create", print)),
    ]
    for error, call, arguments in errors:
        assert error.__name__ in str(error)
        assert tried(error, call, *arguments)


def test_handler_that_exits_does_not_stop_the_others(
    listening: Any, plain: Thoonk, caplog: pytest.LogCaptureFixture
) -> None:
    def gives_up(*_: Any) -> None:
        raise SystemExit

    listening.register_handler("create", gives_up)
    notices = all_of(listening)
    with caplog.at_level(logging.ERROR, "headrace.compat.thoonk"):
        plain.leaf("a")
        plain.leaf("b")

        assert notices.next(2) == [("create", "a"), ("create", "b")]

    assert "a handler failed: feed 'a', event made" in caplog.text
