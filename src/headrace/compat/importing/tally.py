"""Counts and digests of what is brought, by queue and state: two tallies are equal or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from headrace.compat.importing.facts import facts_of
from headrace.compat.importing.found import FoundDay, FoundItem, FoundJob, Thing

ITEMS, STATISTICS, SCHEDULES = "items", "days of statistics", "recurring"
DIGEST_BYTES = 8
_MODULUS = 1 << (8 * DIGEST_BYTES)
_encode = msgspec.msgpack.Encoder().encode

Key = tuple[str, str]


@dataclass(slots=True)
class Sum:
    """How many there are, and a digest that does not depend on their order."""

    count: int = 0
    total: int = 0

    def add(self, facts: object) -> None:
        digest = blake2b(_encode(facts), digest_size=DIGEST_BYTES).digest()
        self.count += 1
        self.total = (self.total + int.from_bytes(digest, "big")) % _MODULUS

    @property
    def digest(self) -> str:
        return f"{self.total:0{2 * DIGEST_BYTES}x}"


class Tally:
    """Sums by the name of a queue or feed and what the things are."""

    def __init__(self) -> None:
        self.sums: dict[Key, Sum] = {}

    def add(self, thing: Thing) -> None:
        """Counts a thing as the source has it."""
        self.count(key_of(thing), facts_of(thing))

    def count(self, key: Key, facts: object) -> None:
        """Counts what is known of a thing."""
        self.sums.setdefault(key, Sum()).add(facts)

    @property
    def total(self) -> int:
        return sum(each.count for each in self.sums.values())

    def differences(self, other: Tally) -> Iterator[str]:
        """Where another tally says something else, in words."""
        for key in sorted(self.sums.keys() | other.sums.keys()):
            mine, theirs = self.sums.get(key, Sum()), other.sums.get(key, Sum())
            name, what = key
            if mine.count != theirs.count:
                yield f"{name!r}: {mine.count:,} {what}, then {theirs.count:,}"
            elif mine.total != theirs.total:
                yield f"{name!r}: {mine.count:,} {what}, then as many others"


def key_of(thing: Thing) -> Key:
    """Under what a thing is counted."""
    if isinstance(thing, FoundJob):
        return thing.job.queue, thing.was
    if isinstance(thing, FoundItem):
        return thing.feed, ITEMS
    return thing.queue, STATISTICS if isinstance(thing, FoundDay) else SCHEDULES
