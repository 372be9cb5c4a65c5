"""The values that readers produce: queues, feeds, entries, and names that are not imported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from headrace.compat.importing.source_server import SourceServer
from headrace.engine.call import packed
from headrace.engine.check import Limits, text
from headrace.engine.settings import Value
from headrace.errors import ImportRefused, InvalidArgument
from headrace.printable import printable

IMPORT_ID_BYTES = 12
MAX_ORIGIN = 200
LIMITS = Limits()
_WHOLE = re.compile(r"-?[0-9]{1,15}")


PastStage = tuple[str, int, int | bool, int, str, str, str, str]
"""A past stage of a job: the time that the job spent in one queue, as a tuple.

The items are the queue, the times of put, pop (or False) and end in milliseconds, the worker, the
outcome, the failure type and the message.
"""

# Each of these fields is a separate argument of the script, or is not sent. All other fields are
# packed into one argument.
SENT_APART = {"id", "import_id", "queue", "data", "result", "source_state"}
# The script expects these fields only if they have a value, so empty fields are not sent.
OPTIONAL = {"tags", "parents", "tracked"}


@dataclass(frozen=True, slots=True)
class ImportedJob:
    """A job of another system, with times in milliseconds.

    `import_id` is unique within the import. `since` is the due time of a scheduled job, or the time
    at which a complete job was popped. `failure` holds the type, message, time and worker of the
    failure. `parents` holds the import ids of the jobs that this job depends on. For `retries` and
    `remaining`, None means the default of the queue and False means no limit. `source_state` is the
    state of the job at the source; a job that is running at the source is imported as waiting.
    """

    id: str
    import_id: str
    queue: str
    state: str
    data: bytes
    origin: str
    put_at: int | None = None
    since: int | None = None
    ended: int | None = None
    worker: str = ""
    attempt: int = 0
    priority: float = 0
    tags: tuple[str, ...] = ()
    retries: int | bool | None = None
    remaining: int | bool | None = None
    releases: int | None = None
    unique: str | None = None
    failure: tuple[str, str, int, str] | None = None
    history: tuple[PastStage, ...] = ()
    depends_on: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    tracked: bool = False
    result: bytes | None = field(default=None, repr=False)
    source_state: str = "waiting"

    def packed_fields(self) -> bytes:
        """Pack the fields that the script reads from a single argument, and return the bytes."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name not in SENT_APART}
        given = {
            name: value
            for name, value in fields.items()
            if value is not None and (value or name not in OPTIONAL)
        }
        return packed(given)


@dataclass(frozen=True, slots=True)
class FoundQueue:
    """A queue to import; `settings` apply only if the namespace has no settings for the queue."""

    name: str
    profile: str
    settings: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundFeed:
    """A feed to import; `about` is the config of the feed as JSON text."""

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
    """A recurring job; `options` are the keyword arguments of `adopt_schedule`."""

    id: str
    import_id: str
    queue: str
    data: bytes
    options: dict[str, Any]


Entry = ImportedJob | FoundItem | FoundSchedule
Setup = FoundQueue | FoundFeed | tuple[str, Value]
"""A queue, a feed, or a setting of the namespace with its value."""


class LeftOut:
    """The keys, jobs and options that are not imported or are imported with a change.

    For each reason, the object counts the names and keeps the first name.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, reason: str, name: str | bytes) -> None:
        """Count one name."""
        self._counts[reason] += 1
        self._first.setdefault(reason, shown(name))

    def lines(self) -> list[str]:
        """Return one line for each reason, with the number of names and the first name."""
        return [
            f"{self._first[reason]}{f' and {times - 1:,} more' if times > 1 else ''}: {reason}"
            for reason, times in sorted(self._counts.items())
        ]


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A system to import: its server, its key prefix, and the chosen queues (empty: all queues)."""

    server: SourceServer
    system: str
    prefix: str | None
    queues: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that distinguishes this import from other imports into the same namespace."""
        found = f"{self.system}@{self.server.name}"
        return found if self.prefix is None else f"{found}#{self.prefix}"

    def wants(self, queue: str) -> bool:
        """Return whether the import includes a queue."""
        return not self.queues or queue in self.queues

    def origin(self, *parts: str | bytes) -> str:
        """Return the `origin` of an imported job."""
        return f"import:{self.name}:{'/'.join(map(shown, parts))}"[:MAX_ORIGIN]


def import_id_of(*parts: str | bytes | int) -> str:
    """Return an id for an entry; the id is unique within the import."""
    digest = blake2b(digest_size=IMPORT_ID_BYTES)
    for part in parts:
        each = part if isinstance(part, bytes) else str(part).encode(errors="surrogateescape")
        digest.update(len(each).to_bytes(4, "big") + each)
    return digest.hexdigest()


def shown(name: str | bytes) -> str:
    """Return a name as printable text of at most 80 characters."""
    words = name.decode(errors="backslashreplace") if isinstance(name, bytes) else name
    clean = printable(words)
    return clean if len(clean) <= 80 else f"{clean[:79]}…"


def job_id(given: bytes, import_id: str) -> str:
    """Return the id of a job if Headrace accepts the id, otherwise the import id of the job."""
    try:
        return text("id", given.decode(), LIMITS.name)
    except (InvalidArgument, UnicodeDecodeError):
        return import_id


def queue_name(given: bytes) -> str:
    """Return the name of a queue or feed. Raises ImportRefused if Headrace rejects the name."""
    try:
        return text("queue", given.decode(), LIMITS.name)
    except (InvalidArgument, UnicodeDecodeError) as error:
        raise ImportRefused(
            f"{shown(given)!r} is not a valid queue name ({error}): rename the queue at the "
            "source, or choose other queues with --queue"
        ) from error


def whole_number(given: str | bytes | None) -> int | None:
    """Parse an integer of at most 15 digits; return None for any other value."""
    words = given.decode(errors="replace") if isinstance(given, bytes) else given or ""
    return int(words) if _WHOLE.fullmatch(words) else None


def whole_ms(seconds: Any) -> int | None:
    """Convert a time in seconds to milliseconds; return None if the value is not a valid time."""
    try:
        found = float(seconds)
    except (TypeError, ValueError):
        return None
    return round(found * 1000) if 0 < found < 1e11 else None


class SourceReader:
    """Base class of the readers; each reader reads the keys of one system."""

    default_prefix = ""

    def __init__(self, source: ImportSource) -> None:
        self.left_out = LeftOut()
        self.source = source
        self.server = source.server
        self.prefix = (source.prefix or self.default_prefix).encode()

    def setups(self) -> Iterator[Setup]:
        """Yield the queues, feeds and settings to import."""
        raise NotImplementedError

    def read_entries(self) -> Iterator[Entry]:
        """Yield the jobs, items and recurring jobs in the order in which they are imported."""
        raise NotImplementedError

    def queue_names(self, names: Iterable[bytes]) -> dict[str, bytes]:
        """Return a dict from queue names in Headrace to the names at the source.

        Skip invalid names if the user chose queues; otherwise an invalid name raises ImportRefused.
        """
        found: dict[str, bytes] = {}
        for given in names:
            try:
                found[queue_name(given)] = given
            except ImportRefused:
                if not self.source.queues:
                    raise
        return found

    def chosen(self, found: dict[str, bytes]) -> dict[str, bytes]:
        """Return the queues to import. Raises ImportRefused if a chosen queue does not exist."""
        missing = [name for name in self.source.queues if name not in found]
        if missing:
            existing = ", ".join(map(repr, map(shown, found))) or "none"
            raise ImportRefused(
                f"the source has no queue {missing[0]!r}; its queues are: {existing}"
            )
        return {name: key for name, key in found.items() if self.source.wants(name)}

    def nothing_found(self, looked_for: str) -> ImportRefused:
        """Return the error for a source without any data of the system."""
        some = ", ".join(shown(key) for key in self.server.keys()[:5]) or "no keys"
        return ImportRefused(
            f"{self.server.name} has no data of {self.source.system}: there is no {looked_for}. "
            f"The server has {some}. Check the database number and --prefix."
        )

    def job(self, queue: str, given: bytes, source_state: str, **fields: Any) -> ImportedJob:
        """Return the ImportedJob for a job that has an id at the source."""
        import_id = import_id_of(queue, given)
        return ImportedJob(
            id=job_id(given, import_id),
            import_id=import_id,
            queue=queue,
            origin=self.source.origin(queue, given),
            source_state=source_state,
            **fields,
        )
