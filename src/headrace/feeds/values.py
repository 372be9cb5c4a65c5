"""Values that operations on feeds return: settings, counts and events."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from headrace.codecs.codec import Codec


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """The kind, the settings and the creation time of a feed."""

    sorted: bool
    max_length: int | None
    about: str | None
    created: datetime


@dataclass(frozen=True, slots=True)
class FeedCounts:
    """Counts of a feed: current items, items ever published, and changes."""

    items: int
    published: int
    changes: int


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """A change of a feed.

    `kind` is published, edited, retracted, positioned, made, configured, deleted or missed. `place`
    is the new position of the item: newest, first or after, or None if the position is unchanged.
    If `place` is after, `after` is the id of the preceding item. `number` grows by one with every
    change of the feed. `instance` identifies the client that created, configured or deleted the
    feed. `missed` is the number of changes that were not received. In an event of kind missed,
    `missed` is None if the feed was deleted or the server lost data: the number is then unknown.
    """

    kind: str
    feed: str
    id: str = ""
    payload: bytes | None = None
    number: int = 0
    place: str | None = None
    after: str | None = None
    instance: str = ""
    missed: int | None = None
    _codec: Codec | None = field(default=None, repr=False, compare=False)

    @property
    def item(self) -> Any:
        """The decoded item, or None if the event has no item."""
        if self.payload is None or self._codec is None:
            return None
        return self._codec.decode(self.payload)
