"""The scripts of feeds and their models: every call is made on both, and the results compared.

After every call, the feeds, the messages on the channels and the log are compared with the models.
While `connection.on` is set, every call is repeated, and the repeated call must change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from headrace import Feed, FeedExists, FeedNotFound, HeadraceError, ItemNotFound
from tests.model.feeds.model import FeedModel, FeedModels
from tests.model.harness import START_MS, RepeatingConnection, Swaps, Twin
from tests.support.channels import listening
from tests.support.dump import dump

NAMES = ("news", "line")
PARTS = 9
CHANGES_NO_FEED = {"feed_numbers"}
MOST_IN_LOG = 16_384


class FeedTwin(Twin[FeedModels]):
    """The server and the models of two feeds."""

    def __init__(self, url: str, swaps: Swaps | None = None) -> None:
        super().__init__(url, FeedModels(START_MS), swaps)
        self.connection = RepeatingConnection(self.hr, may_change=CHANGES_NO_FEED)
        self.models = self.model.feeds
        self.feeds: dict[str, Feed] = {}
        self.created: list[str] = []
        self.changes = 0
        self.events = 0
        self._lives: dict[str, int] = {}
        channels = ("changes:", *(f"changes:{name}" for name in NAMES))
        self._listener = self.closing.enter_context(listening(self.hr, url, *channels))

    def create(
        self,
        name: str,
        *,
        is_sorted: bool = False,
        max_length: int | None = None,
        about: str | None = None,
    ) -> None:
        if name in self.models:
            self.refused(FeedExists, lambda: self.hr.feeds.create(name, sorted=is_sorted))
            return
        self.feeds[name] = self.hr.feeds.create(
            name, sorted=is_sorted, max_length=max_length, about=about
        )
        model = self.models[name] = FeedModel(is_sorted, max_length, about)
        model.tell("feed_made")
        self.created.append(name)
        self._lives[name] = self.events + 1
        self.check()

    def configure(self, name: str, max_length: int | None, about: str | None = None) -> None:
        if name not in self.models:
            self.refused(FeedNotFound, self.feeds[name].configure)
            return
        self.feeds[name].configure(max_length=max_length, about=about)
        self.models[name].configure(max_length, about)
        self.check()

    def publish(self, name: str, items: Mapping[str, Any], *, touch: bool = False) -> None:
        """Publish to a plain feed."""
        if name not in self.models:
            self.refused(FeedNotFound, lambda: self.feeds[name].publish_many(items, touch=touch))
            return
        self.models[name].publish(items, touch=touch)
        assert self.feeds[name].publish_many(items, touch=touch) == list(items)
        self.check()

    def publish_anew(self, name: str, item: Any, where: str = "", reference: str = "") -> str:
        """Publish without an id, in a plain or a sorted feed."""
        model = self.models[name]
        item_id = self.feeds[name].publish(item, **_place(where, reference))
        assert item_id not in model.items
        if model.is_sorted:
            assert item_id.isdigit()
            model.insert({item_id: item}, where, reference)
        else:
            model.publish({item_id: item})
        self.check()
        return item_id

    def insert(
        self, name: str, items: Mapping[str, Any], where: str = "", reference: str = ""
    ) -> None:
        """Insert into a sorted feed."""

        def call() -> Any:
            return self.feeds[name].publish_many(items, **_place(where, reference))

        if name not in self.models:
            self.refused(FeedNotFound, call)
        elif reference and reference not in self.models[name].items:
            self.refused(ItemNotFound, call)
        else:
            self.models[name].insert(items, where, reference)
            assert call() == list(items)
            self.check()

    def move(self, name: str, ids: Sequence[str], where: str, reference: str = "") -> None:
        def call() -> Any:
            self.feeds[name].move(*ids, **_place(where, reference))

        if name not in self.models:
            self.refused(FeedNotFound, call)
        elif {*ids, *([reference] if reference else [])} - set(self.models[name].items):
            self.refused(ItemNotFound, call)
        else:
            self.models[name].move(ids, where, reference)
            call()
            self.check()

    def retract(self, name: str, ids: Sequence[str]) -> None:
        if name not in self.models:
            self.refused(FeedNotFound, lambda: self.feeds[name].retract(*ids))
            return
        there = self.models[name].retract(ids)
        assert self.feeds[name].retract(*ids) == there
        self.check()

    def delete(self, name: str) -> None:
        if name not in self.models:
            self.refused(FeedNotFound, self.feeds[name].delete)
            return
        self.feeds[name].delete()
        model = self.models.pop(name)
        model.tell("feed_deleted")
        self.created.remove(name)
        self.check({name: model})
        assert not [key for key in dump(self.hr) if key.endswith(f":{name}")]

    def make_as_other_kind(self, name: str) -> None:
        """Recreate the feed with the other kind; the old Feed object must not find the feed."""
        feed = self.feeds[name]
        self.delete(name)
        self.create(name, is_sorted=not feed.sorted)
        for call in (lambda: feed.publish(1, id="a"), feed.configure):
            self.refused(FeedNotFound, call)
        if feed.sorted:
            self.refused(FeedNotFound, lambda: feed.publish(1))
            self.refused(FeedNotFound, lambda: feed.move("a", first=True))

    def refused(self, kind: type[HeadraceError], call: Callable[[], Any]) -> None:
        """Assert that the call is refused, changes nothing and publishes nothing."""
        before = dump(self.hr)
        repeats, self.connection.on = self.connection.on, False
        with pytest.raises(kind):
            call()
        self.connection.on = repeats
        assert dump(self.hr) == before
        self.check()

    def check(self, gone: Mapping[str, FeedModel] | None = None) -> None:
        """Compare the feeds, the messages and the log with the models."""
        repeats, self.connection.on = self.connection.on, False
        self.connection.sent = 0
        self._check_told({**self.models, **(gone or {})})
        assert self.hr.feeds.list() == self.created
        for name in NAMES:
            assert self.hr.feeds.exists(name) == (name in self.models)
        for name, model in self.models.items():
            self._check_feed(self.feeds[name], model)
        self.connection.on = repeats

    def _check_told(self, models: Mapping[str, FeedModel]) -> None:
        expected = []
        for name, model in models.items():
            first = model.number - len(model.told) + 1
            for number, change in enumerate(model.told, first):
                self.changes += 1
                self.events += 1
                expected.append((name, number, self.changes, change))
            model.told.clear()
        heard = self._listener.heard()
        for name, number, of_shard, change in expected:
            instance = self.hr.instance if change.kind.startswith("feed_") else ""
            parts = (change.kind, name, self._lives[name], number, of_shard, change.id)
            told = (*map(str, parts), change.place, instance, change.item)
            assert {read(message) for _, message in heard[:2]} == {told}
            assert {channel for channel, _ in heard[:2]} == {"changes:", f"changes:{name}"}
            heard = heard[2:]
        assert heard == []
        self._check_log([change for _, _, _, change in expected])

    def _check_log(self, changes: Sequence[Any]) -> None:
        events = list(self.hr.events())
        assert [event.number for event in events] == list(range(1, self.events + 1))
        newest = events[len(events) - len(changes) :]
        for event, change in zip(newest, changes, strict=True):
            assert (event.kind, event.job_id) == (change.kind, change.id)
            assert (event.place or "") == change.place
            size = len(msgspec.json.encode(change.item))
            assert event.left_out == (size if size > MOST_IN_LOG else None)
            if event.left_out is None:
                item = None if event.data is None else msgspec.json.decode(event.data)
                assert item == change.item

    def _check_feed(self, feed: Feed, model: FeedModel) -> None:
        forward, backward = ("first", "last") if model.is_sorted else ("oldest", "newest")
        assert feed.ids(order=forward) == model.order
        assert feed.ids(order=backward) == model.order[::-1]
        assert list(feed.all(order=forward)) == model.order
        assert feed.all() == model.items
        found = feed.counts()
        assert (found.items, found.published) == (len(model.order), model.published)
        assert found.changes == model.number
        assert feed.length() == len(model.order)
        set_of = feed.settings()
        assert (set_of.max_length, set_of.about) == (model.max_length, model.about)
        assert feed.sorted == set_of.sorted == model.is_sorted
        places = feed.core.key(feed.core.shard_of(feed.name), f"items:{feed.name}")
        assert feed.core.transport.send([(0, ("HLEN", places))]) == [len(model.items)]
        newest = feed.ids(count=1)
        assert feed.item() == (model.items[newest[0]] if newest else None)


def read(message: bytes) -> tuple[Any, ...]:
    """Return the parts of a message, with the item decoded."""
    *names, item = message.split(b"\0", PARTS - 1)
    return (*(name.decode() for name in names), msgspec.json.decode(item) if item else None)


def _place(where: str, reference: str) -> dict[str, Any]:
    return {where: reference or True} if where else {}
