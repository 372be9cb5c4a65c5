"""The values that readers yield: entries to import, queues, feeds, and names left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from headrace.compat.importing.operations import ImportedJob
from headrace.compat.importing.source_server import SourceServer
from headrace.engine.check import Limits, text
from headrace.engine.settings import Value
from headrace.errors import ImportRefused, InvalidArgument

IMPORT_ID_BYTES = 12
MAX_ORIGIN = 200
LIMITS = Limits()
_WHOLE = re.compile(r"-?[0-9]{1,15}")


@dataclass(frozen=True, slots=True)
class FoundQueue:
    """A queue, and its settings unless the queue has settings in the namespace already."""

    name: str
    profile: str
    settings: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """A feed; `about` is its config."""

    name: str
    is_sorted: bool = False
    max_length: int | None = None
    about: str | None = None


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item of a feed. Readers yield the oldest item of a plain feed first."""

    feed: str
    id: str
    item: bytes


@dataclass(frozen=True, slots=True)
class FoundSchedule:
    """A recurring job; `due` is its next run in milliseconds, `options` those of its jobs."""

    id: str
    import_id: str
    queue: str
    data: bytes
    every: float
    due: int
    backlog: int | None
    options: dict[str, Any]


Entry = ImportedJob | FoundItem | FoundSchedule
Setup = FoundQueue | FoundFeed | tuple[str, Value]
"""A queue, a feed, or a setting of the namespace with its value."""


class LeftOut:
    """Names that are not imported, by reason: the count and the first name."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, reason: str, name: str | bytes) -> None:
        """Count one name."""
        self._counts[reason] += 1
        self._first.setdefault(reason, shown(name))

    def lines(self) -> list[str]:
        """Return one line for each reason."""
        return [
            f"{self._first[reason]}{f' and {times - 1:,} more' if times > 1 else ''}: {reason}"
            for reason, times in sorted(self._counts.items())
        ]


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A system on a server: all of it or some queues, with a prefix of its keys."""

    server: SourceServer
    system: str
    prefix: str | None
    queues: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that distinguishes this import from others into the same namespace."""
        found = f"{self.system}@{self.server.name}"
        return found if self.prefix is None else f"{found}#{self.prefix}"

    def wants(self, queue: str) -> bool:
        """Return whether to read a queue."""
        return not self.queues or queue in self.queues

    def origin(self, *parts: str | bytes) -> str:
        """Return the `origin` of an imported job."""
        return f"import:{self.name}:{'/'.join(map(shown, parts))}"[:MAX_ORIGIN]


def import_id_of(*parts: str | bytes | int) -> str:
    """Return the id of an entry that is unique in its import."""
    digest = blake2b(digest_size=IMPORT_ID_BYTES)
    for part in parts:
        each = part if isinstance(part, bytes) else str(part).encode(errors="surrogateescape")
        digest.update(len(each).to_bytes(4, "big") + each)
    return digest.hexdigest()


def shown(name: str | bytes) -> str:
    """Return a name as printable text of at most 80 characters."""
    words = name.decode(errors="backslashreplace") if isinstance(name, bytes) else name
    clean = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in words)
    return clean if len(clean) <= 80 else f"{clean[:79]}…"


def job_id(given: bytes, import_id: str) -> str:
    """Return the id of a job if it is valid here, otherwise its import id."""
    try:
        return text("id", given.decode(), LIMITS.name)
    except (InvalidArgument, UnicodeDecodeError):
        return import_id


def queue_name(given: bytes) -> str:
    """Return the name of a queue or feed. Raises ImportRefused if it is not valid here."""
    try:
        return text("queue", given.decode(), LIMITS.name)
    except (InvalidArgument, UnicodeDecodeError) as error:
        raise ImportRefused(
            f"{shown(given)!r} is not a valid queue name ({error}): rename it at the source, or "
            "choose other queues with --queue"
        ) from error


def whole_number(given: str | bytes | None) -> int | None:
    """Return an integer of at most 15 digits, or None if it is not one."""
    words = given.decode(errors="replace") if isinstance(given, bytes) else given or ""
    return int(words) if _WHOLE.fullmatch(words) else None


def whole_ms(seconds: Any) -> int | None:
    """Return a time in seconds as milliseconds, or None if it is not a time."""
    try:
        found = float(seconds)
    except (TypeError, ValueError):
        return None
    return round(found * 1000) if 0 < found < 1e11 else None


class SourceReader:
    """Base of the readers, each of which reads the keys of one system."""

    default_prefix = ""

    def __init__(self, source: ImportSource) -> None:
        self.left_out = LeftOut()
        self.source = source
        self.server = source.server
        self.prefix = (source.prefix or self.default_prefix).encode()

    def setups(self) -> Iterator[Setup]:
        """Yield queues, feeds and settings."""
        raise NotImplementedError

    def entries(self) -> Iterator[Entry]:
        """Yield everything to import, in the order in which to import it."""
        raise NotImplementedError

    def queue_names(self, names: Iterable[bytes]) -> dict[str, bytes]:
        """Return queues by their name here; skip invalid names if the user chose some queues."""
        found: dict[str, bytes] = {}
        for given in names:
            try:
                found[queue_name(given)] = given
            except ImportRefused:
                if not self.source.queues:
                    raise
        return found

    def chosen(self, found: dict[str, bytes]) -> dict[str, bytes]:
        """Return the queues to import. Raises ImportRefused if one of them does not exist."""
        missing = [name for name in self.source.queues if name not in found]
        if missing:
            existing = ", ".join(map(repr, map(shown, found))) or "none"
            raise ImportRefused(f"the source has no queue {missing[0]!r}; it has: {existing}")
        return {name: key for name, key in found.items() if self.source.wants(name)}

    def nothing_found(self, looked_for: str) -> ImportRefused:
        """Return the error for a source without any data of the system."""
        some = ", ".join(shown(key) for key in self.server.keys()[:5]) or "no keys"
        return ImportRefused(
            f"{self.server.name} has no data of {self.source.system}: there is no {looked_for}. It "
            f"has {some}. Check the database number and --prefix."
        )

    def job(self, queue: str, given: bytes, source_state: str, **fields: Any) -> ImportedJob:
        """Return a job that has an id at the source."""
        import_id = import_id_of(queue, given)
        return ImportedJob(
            id=job_id(given, import_id),
            import_id=import_id,
            queue=queue,
            origin=self.source.origin(queue, given),
            source_state=source_state,
            **fields,
        )
