"""The model of a feed: a list and a dict, and the change that each operation publishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Change(NamedTuple):
    """One published change; an item of None means no item."""

    kind: str
    id: str = ""
    item: Any = None
    place: str = ""


@dataclass
class FeedModel:
    """A feed; the oldest or the first item is the first of the order."""

    is_sorted: bool
    max_length: int | None = None
    about: str | None = None
    order: list[str] = field(default_factory=list)
    items: dict[str, Any] = field(default_factory=dict)
    published: int = 0
    number: int = 0
    told: list[Change] = field(default_factory=list)

    def tell(self, kind: str, item_id: str = "", item: Any = None, place: str = "") -> None:
        self.number += 1
        self.told.append(Change(kind, item_id, item, place))

    def configure(self, max_length: int | None, about: str | None) -> None:
        self.max_length, self.about = max_length, about
        self.tell("feed_configured")
        self._evict()

    def publish(self, items: Mapping[str, Any], *, touch: bool = False) -> None:
        """Publish to a plain feed."""
        grows = False
        for item_id, item in items.items():
            is_new = item_id not in self.items
            self.items[item_id] = item
            if touch and not is_new:
                self.order.remove(item_id)
            if touch or is_new:
                self.order.append(item_id)
            place = "newest" if touch or is_new else ""
            self.tell("published" if is_new else "edited", item_id, item, place)
            self.published += is_new
            grows = grows or is_new
        if grows:
            self._evict()

    def _evict(self) -> None:
        while self.max_length is not None and len(self.order) > self.max_length:
            self._remove(self.order[0])

    def _remove(self, item_id: str) -> None:
        self.order.remove(item_id)
        del self.items[item_id]
        self.tell("retracted", item_id)

    def insert(self, items: Mapping[str, Any], where: str, reference: str) -> None:
        """Insert into a sorted feed."""
        for item_id, item in items.items():
            is_new = item_id not in self.items
            self.items[item_id] = item
            place = ""
            if is_new or where:
                place = self._stand(item_id, where or "last", reference)
            self.tell("published" if is_new else "edited", item_id, item, place)
            self.published += is_new
            where, reference = _following(item_id, where, reference)

    def move(self, ids: Sequence[str], where: str, reference: str) -> None:
        backwards = where in ("last", "before")
        for item_id in dict.fromkeys(reversed(ids)) if backwards else ids:
            place = self._stand(item_id, where, reference)
            if place:
                self.tell("positioned", item_id, None, place)
            if backwards:
                where, reference = "before", item_id
            else:
                where, reference = _following(item_id, where, reference)

    def _stand(self, item_id: str, where: str, reference: str) -> str:
        if item_id == reference:
            return ""
        rest = [other for other in self.order if other != item_id]
        at = {"first": 0, "last": len(rest)}.get(where)
        if at is None:
            at = rest.index(reference) + (where == "after")
        before, self.order = self.order, [*rest[:at], item_id, *rest[at:]]
        if before == self.order:
            return ""
        return f"after {self.order[at - 1]}" if at else "first"

    def retract(self, ids: Sequence[str]) -> list[str]:
        there = [item_id for item_id in dict.fromkeys(ids) if item_id in self.items]
        for item_id in there:
            self._remove(item_id)
        return there


@dataclass
class FeedModels:
    """The models of all feeds, by name."""

    now: int
    feeds: dict[str, FeedModel] = field(default_factory=dict)


def _following(item_id: str, where: str, reference: str) -> tuple[str, str]:
    return ("after", item_id) if where in ("first", "after") else (where, reference)
