"""Feeds are created, configured, opened and deleted."""

from __future__ import annotations

import json
from queue import Queue
from typing import Any

import pytest

from headrace import Client, InvalidArgument
from headrace.compat.thoonk import FeedDoesNotExist, FeedExists, NotAllowed, Thoonk, registry
from headrace.transport.drive import Operation, drive
from tests.compat.thoonk.support.steps import changes, keys, tried
from tests.proof import proves
from tests.support.dump import dump

TYPES = ("leaf", "sorted_feed", "queue", "job")


@proves("T-01")
def test_feed_is_created_once(thoonk: Any, hr: Client) -> None:
    leaf = thoonk.create_feed("news", {"type": "leaf"})
    leaf.publish("item", "a")
    thoonk.create_feed("mail", {"type": "queue"})
    before = dump(hr)

    tried(FeedExists, thoonk.create_feed, "news", {"type": "queue"})
    tried(FeedExists, thoonk.create_feed, "mail", {"type": "job"})

    assert dump(hr) == before
    assert thoonk.get_feeds() == {"news", "mail"}
    assert thoonk.feed_exists("news")
    assert not thoonk.feed_exists("olds")


@proves("T-01", "T-05")
@pytest.mark.parametrize("kind", TYPES)
def test_constructors_open_an_existing_feed(thoonk: Any, hr: Client, kind: str) -> None:
    made = getattr(thoonk, kind)("it", {"colour": "red"})
    before = dump(hr)

    again = getattr(thoonk, kind)("it", {"colour": "blue"})

    assert type(again) is type(made)
    assert dump(hr) == before
    assert thoonk.get_config("it") == {"type": kind, "colour": "red"}


@proves("T-05")
@pytest.mark.parametrize("kind", TYPES)
def test_feed_opened_by_name_has_the_type_of_its_config(thoonk: Any, kind: str) -> None:
    made = thoonk.create_feed("it", {"type": kind})

    opened = thoonk["it"]

    assert type(opened) is type(made)
    assert (opened.name, opened.type) == ("it", kind)


@proves("T-05")
def test_feed_is_not_opened_as_another_type(thoonk: Any, hr: Client) -> None:
    thoonk.queue("mail")
    before = dump(hr)

    assert "has type queue" in tried(NotAllowed, thoonk.leaf, "mail")
    tried(NotAllowed, thoonk.job, "mail")
    tried(InvalidArgument, thoonk.job, "jobs", {"type": "queue"})

    assert dump(hr) == before


@proves("T-04")
def test_set_config_replaces_the_whole_config(thoonk: Any, hr: Client) -> None:
    thoonk.create_feed("news", {"a": 1, "b": 2})
    assert thoonk.get_config("news") == {"type": "leaf", "a": 1, "b": 2}

    thoonk.set_config("news", {"b": 3})
    assert thoonk.get_config("news") == {"type": "leaf", "b": 3}

    thoonk.set_config("news", '{"c": [null, "ü"]}')
    assert thoonk.get_config("news") == {"type": "leaf", "c": [None, "ü"]}
    assert json.loads(hr.feed("news").settings().about or "") == {"type": "leaf", "c": [None, "ü"]}


@proves("T-04", "T-05")
def test_type_of_a_feed_cannot_change(thoonk: Any, hr: Client) -> None:
    thoonk.queue("mail")
    before = dump(hr)

    tried(NotAllowed, thoonk.set_config, "mail", {"type": "leaf"})
    assert dump(hr) == before

    thoonk.set_config("mail", {"colour": "red"})
    assert thoonk.get_config("mail") == {"type": "queue", "colour": "red"}


@pytest.mark.parametrize(
    "config",
    [
        *("no JSON", "[]", 5, {"type": "list of things"}, {"a": object()}, {"a": "x" * 70_000}),
        *({"max_length": 0}, {"type": "queue", "max_length": 3}, {"max_length": "3"}),
    ],
)
def test_invalid_config_is_refused(thoonk: Any, hr: Client, config: Any) -> None:
    thoonk.leaf("news")
    before = dump(hr)

    tried(InvalidArgument, thoonk.create_feed, "more", config)
    tried((InvalidArgument, NotAllowed), thoonk.set_config, "news", config)  # type: ignore[arg-type]

    assert dump(hr) == before


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 300, 5])
def test_invalid_name_is_refused(thoonk: Any, hr: Client, name: Any) -> None:
    before = dump(hr)

    for call in (thoonk.create_feed, thoonk.queue, thoonk.leaf, thoonk.delete_feed):
        tried(InvalidArgument, call, name)

    assert dump(hr) == before


@proves("T-03", "TD-11")
@pytest.mark.parametrize("kind", TYPES)
def test_deleted_feed_leaves_no_keys(thoonk: Any, hr: Client, kind: str) -> None:
    feed = thoonk.create_feed("it", {"type": kind})
    for number in range(3):
        feed.publish(f"item {number}")
    if kind == "job":
        for end in (lambda one: feed.finish(one, "result"), feed.stall, feed.cancel):
            end(feed.get(1).id)

    thoonk.delete_feed("it")

    assert keys(hr) <= {"feeds", "queues"}
    assert thoonk.get_feeds() == set()
    assert list(hr.queues()) == []
    tried(FeedDoesNotExist, thoonk.delete_feed, "it")


@proves("T-03")
def test_delete_is_one_step(hr: Client, plain: Thoonk) -> None:
    plain.leaf("news").publish("item")

    assert changes(hr, registry.delete_feed(plain, "news")) == 1


@proves("T-03", "TD-11")
def test_job_put_during_a_delete_is_deleted_too(hr: Client, plain: Thoonk) -> None:
    mail = plain.queue("mail")
    mail.put("item")
    deleting = registry.delete_feed(plain, "mail")
    wish = next(deleting)
    while "mail" in hr.queues():
        wish = deleting.send(hr.core.transport.send(wish.commands))
    mail.put("more")

    drive(hr.core.transport, resumed(deleting, wish))

    assert keys(hr) == set()


def resumed(operation: Operation[Any], wish: Any) -> Operation[Any]:
    """Run the rest of an operation."""
    while True:
        try:
            wish = operation.send((yield wish))
        except StopIteration as end:
            return end.value


@proves("T-03", "TD-11")
def test_interrupted_delete_can_be_repeated(hr: Client, plain: Thoonk) -> None:
    plain.queue("mail").put("item")
    deleting = registry.delete_feed(plain, "mail")
    wish = next(deleting)
    while "mail" in hr.queues():
        wish = deleting.send(hr.core.transport.send(wish.commands))

    assert plain.get_feeds() == {"mail"}
    plain.delete_feed("mail")
    assert keys(hr) == set()


@proves("TD-12", "T-13")
@pytest.mark.parametrize("kind", ["leaf", "sorted_feed"])
def test_feed_is_created_with_its_config_in_one_step(hr: Client, plain: Thoonk, kind: str) -> None:
    assert changes(hr, registry.create(plain, "news", {"type": kind, "a": 1})) == 1
    assert changes(hr, registry.set_config(plain, "news", {"a": 2})) == 1


@proves("TD-12")
def test_create_handler_finds_the_config_of_the_feed(listening: Any, plain: Thoonk) -> None:
    found: Queue[Any] = Queue()
    listening.register_handler("create", lambda feed: found.put(plain.get_config(feed)))

    plain.create_feed("jobs", {"type": "job", "colour": "red"})

    assert found.get(timeout=20) == {"type": "job", "colour": "red"}


@proves("T-07")
@pytest.mark.parametrize("kind", TYPES)
def test_every_call_on_a_missing_feed_is_refused(thoonk: Any, hr: Client, kind: str) -> None:
    feed = thoonk.create_feed("it", {"type": kind})
    thoonk.delete_feed("it")
    before = dump(hr)
    calls = {
        "leaf": ["get_ids", "get_all", "length", "publishes"],
        "sorted_feed": ["get_ids", "get_all", "length"],
        "queue": ["get", "get_ids", "get_all", "length"],
        "job": ["get", "get_ids", "get_claimed", "get_running", "get_stalled", "length"],
    }[kind]
    by_id = {
        "leaf": ["retract", "get_item", "has_id"],
        "sorted_feed": ["retract", "get_item", "move_first", "move_last"],
        "queue": ["get_item", "has_id", "retract"],
        "job": ["finish", "cancel", "stall", "retry", "get_result", "get_failure_count", "retract"],
    }[kind]

    for name in calls:
        tried(FeedDoesNotExist, getattr(feed, name))
    for name in by_id:
        tried(FeedDoesNotExist, getattr(feed, name), "a")
    tried(FeedDoesNotExist, feed.publish, "item")
    tried(FeedDoesNotExist, thoonk.set_config, "it", {})
    tried(FeedDoesNotExist, thoonk.get_config, "it")
    tried(FeedDoesNotExist, thoonk.__getitem__, "it")

    assert dump(hr) == before


@proves("T-07")
def test_object_of_a_recreated_feed_with_another_type_is_refused(thoonk: Any) -> None:
    queue = thoonk.queue("it")
    thoonk.delete_feed("it")
    thoonk.job("it")

    tried(FeedDoesNotExist, queue.put, "item")
    tried(FeedDoesNotExist, queue.get, 1)


@pytest.mark.parametrize("config", [{"type": []}, '{"type": {}}', "[" * 100_000, "\ud800"])
def test_config_type_must_be_a_str(thoonk: Any, hr: Client, config: Any) -> None:
    thoonk.leaf("news")
    before = dump(hr)

    tried(InvalidArgument, thoonk.create_feed, "other", config)
    tried(InvalidArgument, thoonk.set_config, "news", config)

    assert dump(hr) == before


@pytest.mark.parametrize("about", ['{"type": []}', "[" * 10_000])
def test_feed_with_another_about_text_has_the_type_of_its_settings(
    thoonk: Any, hr: Client, about: str
) -> None:
    hr.feeds.create("news", about=about)

    assert thoonk.get_config("news") == {"type": "leaf"}


@proves("T-07")
@pytest.mark.parametrize("kind", TYPES)
def test_strict_namespace_refuses_to_open_an_unknown_feed(
    thoonk: Any, hr: Client, kind: str
) -> None:
    hr.config.set("strict_feeds", True)
    before = dump(hr)

    tried(FeedDoesNotExist, getattr(thoonk, kind), "it")
    tried(FeedDoesNotExist, hr.feed, "it")

    assert dump(hr) == before
    thoonk.create_feed("it", {"type": kind})
    assert getattr(thoonk, kind)("it").length() == 0
    thoonk.delete_feed("it")
    tried(FeedDoesNotExist, getattr(thoonk, kind), "it")
    hr.config.unset("strict_feeds")
    assert getattr(thoonk, kind)("it").length() == 0
