"""What a reader finds at a source, and what it cannot bring and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol

from headrace.compat.importing.adopting import Adopted
from headrace.compat.importing.source import Source
from headrace.engine.check import Limits, text
from headrace.engine.settings import Value
from headrace.engine.statistics import Series
from headrace.errors import ImportRefused, InvalidArgument

BADGE_BYTES = 12
LONGEST_ORIGIN = 200
LIMITS = Limits()
_WHOLE = re.compile(r"-?[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class FoundJob:
    """A job, and the state it had at the source: what ran there waits here."""

    was: str
    job: Adopted


@dataclass(frozen=True, slots=True)
class FoundQueue:
    """A queue, and how it is to behave unless somebody has chosen that here."""

    name: str
    profile: str
    settings: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """A feed. About it stands its config."""

    name: str
    is_sorted: bool = False
    max_length: int | None = None
    about: str | None = None


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item of a feed; they come oldest or first one first."""

    feed: str
    id: str
    item: bytes


@dataclass(frozen=True, slots=True)
class FoundDay:
    """What was counted of a queue on a day, which is given as its number since 1970-01-01."""

    queue: str
    day: int
    wait: Series
    run: Series
    failures: int = 0
    retries: int = 0


@dataclass(frozen=True, slots=True)
class FoundSchedule:
    """What puts a job again and again; `due` is its next turn in milliseconds."""

    id: str
    badge: str
    queue: str
    data: bytes
    every: float
    due: int
    backlog: int | None
    priority: float
    tags: tuple[str, ...]
    retries: int | None


Thing = FoundJob | FoundItem | FoundDay | FoundSchedule
Frame = FoundQueue | FoundFeed | tuple[str, Value]
"""Where things go: a queue, a feed; or a setting of the namespace."""


class Notes:
    """What is not brought, and why; the first of each kind by name. The keys that have it stay."""

    def __init__(self) -> None:
        self.staying: set[bytes] = set()
        self._counts: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, why: str, name: str | bytes, *staying: bytes) -> None:
        self.staying.update(staying)
        self._counts[why] += 1
        self._first.setdefault(why, shown(name))

    def lines(self) -> list[str]:
        """One sentence for each reason."""
        return [
            f"{self._first[why]}{f' and {times - 1:,} more' if times > 1 else ''}: {why}"
            for why, times in sorted(self._counts.items())
        ]


class Reader(Protocol):
    """How the keys of one system are read."""

    notes: Notes

    def frames(self) -> Iterator[Frame]:
        """Queues, feeds and settings."""

    def things(self) -> Iterator[Thing]:
        """Everything, in the order in which it is to come here."""

    def keys(self) -> Iterator[bytes]:
        """The keys of all this, also of what is not brought."""


@dataclass(frozen=True, slots=True)
class Place:
    """What is read: a source, whose keys may begin with something, all of it or some queues."""

    source: Source
    system: str
    prefix: str | None
    queues: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What tells this import from others into the same namespace."""
        found = f"{self.system}@{self.source.name}"
        return found if self.prefix is None else f"{found}#{self.prefix}"

    def wants(self, queue: str) -> bool:
        """Whether a queue is to be read."""
        return not self.queues or queue in self.queues

    def origin(self, *parts: str | bytes) -> str:
        """What a job that was brought says of where it comes from."""
        words = "/".join(map(shown, parts))
        return f"import:{self.name}:{words}"[:LONGEST_ORIGIN]


def badge_of(*parts: str | bytes | int) -> str:
    """What tells a thing from all others of its import."""
    digest = blake2b(digest_size=BADGE_BYTES)
    for part in parts:
        each = part if isinstance(part, bytes) else str(part).encode(errors="surrogateescape")
        digest.update(len(each).to_bytes(4, "big") + each)
    return digest.hexdigest()


def shown(name: str | bytes) -> str:
    """A name as people can read it."""
    words = name.decode(errors="backslashreplace") if isinstance(name, bytes) else name
    clean = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in words)
    return clean if len(clean) <= 80 else f"{clean[:79]}…"


def job_id(given: bytes, badge: str) -> str:
    """The id of a job: the one it had, if that can be one here, otherwise its badge."""
    try:
        return text("id", given.decode(), LIMITS.name)
    except (InvalidArgument, UnicodeDecodeError):
        return badge


def queue_name(given: bytes) -> str:
    """The name of a queue or feed, if it can be one here."""
    try:
        return text("queue", given.decode(), LIMITS.name)
    except (InvalidArgument, UnicodeDecodeError) as error:
        raise ImportRefused(
            f"{shown(given)!r} cannot be the name of a queue here ({error}): rename it at the "
            "source, or choose others with --queue"
        ) from error


def queue_names(place: Place, every: Iterable[bytes]) -> dict[str, bytes]:
    """Queues by what they are called here; where some are chosen, others may have any name."""
    found: dict[str, bytes] = {}
    for given in every:
        try:
            found[queue_name(given)] = given
        except ImportRefused:
            if not place.queues:
                raise
    return found


def check_all_found(place: Place, found: Sequence[str]) -> None:
    """Raises if a queue that was asked for is not there."""
    missing = [name for name in place.queues if name not in found]
    if missing:
        there = ", ".join(map(repr, map(shown, found))) or "none"
        raise ImportRefused(f"the source has no queue {missing[0]!r}; there are: {there}")


def not_of(place: Place, looked_for: str) -> ImportRefused:
    """The error for a source that has nothing of a system."""
    some = ", ".join(shown(key) for key in place.source.keys()[:5]) or "no keys at all"
    return ImportRefused(
        f"{place.source.name} has nothing of {place.system}: there is no {looked_for}. It has "
        f"{some}. Is it the right database, and --prefix as it was there?"
    )


def whole_number(said: str | bytes | None) -> int | None:
    """A whole number that can be one of Headrace; None for what is none."""
    words = said.decode(errors="replace") if isinstance(said, bytes) else said or ""
    return int(words) if _WHOLE.fullmatch(words) else None


def whole_ms(seconds: Any) -> int | None:
    """A time in seconds, as milliseconds; None for what is none."""
    try:
        found = float(seconds)
    except (TypeError, ValueError):
        return None
    return round(found * 1000) if 0 < found < 1e11 else None
