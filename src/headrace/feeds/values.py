"""What is said of feeds: their settings, what is counted, what is heard of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from headrace.codecs.codec import Codec


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """How a feed was made, and what is set of it."""

    sorted: bool
    max_length: int | None
    about: str | None
    created: datetime


@dataclass(frozen=True, slots=True)
class FeedCounts:
    """How many items a feed has, how many were published in its life, and how often it changed."""

    items: int
    published: int
    changes: int


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """What is heard of a feed.

    kind is published, edited, retracted, positioned, made, configured, deleted or missed. The place
    is where the item stands now: newest, first, or after (then `after` is the id of the one before
    it); None is where it stood. The number is one more with every change of the feed. The instance
    is that of the client who made, configured or deleted the feed. `missed` says how many changes
    were not heard; None in an event of that kind that it cannot be known: the feed was deleted
    meanwhile, or the server has lost data.
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
        """The item, decoded; None where there is none."""
        if self.payload is None or self._codec is None:
            return None
        return self._codec.decode(self.payload)
