"""The options of format("headrace"): one table for each use, read and checked once.

A table is a dataclass; a field that is an option says what it is called and how its text is read.
Spark gives values as text and does not mind the case of names. The URL may hold a password: it is
shown nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Self

from headrace.client import connect
from headrace.client.client import Client
from headrace.engine import check
from headrace.engine.settings import SETTINGS
from headrace.engine.states import STATES
from headrace.errors import InvalidArgument, NamespaceNotFound
from headrace.local_server import embedded
from headrace.operations.namespace import is_there
from headrace.spark.plan import EARLIEST, LATEST, Bound, read_bound
from headrace.transport.drive import drive

# How an option is read, given what it is called in errors, and its text.
Read = Callable[[str, str], Any]

# What Spark itself passes on to sources and sinks.
OF_SPARK = frozenset({"checkpointlocation", "queryname"})
MOST = 10**9
RETRY_FOR = 15.0
TIMEOUT = 30.0


def option(name: str, read: Read, default: Any, *, shown: bool = True) -> Any:
    """A field of a table that is an option of this name."""
    return field(default=default, repr=shown, metadata={"name": name, "read": read})


def whole(least: int, most: int = MOST) -> Read:
    """Reads a whole number within bounds."""

    def read(called: str, text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text[:20]) <= most):
            raise InvalidArgument(
                f"{called} must be a whole number from {least} to {most}, not {check.shown(text)}"
            )
        return int(text)

    return read


def one_of(*words: str) -> Read:
    """Reads one of some words."""

    def read(called: str, text: str) -> str:
        if text not in words:
            raise InvalidArgument(
                f"{called} must be one of {', '.join(words)}, not {check.shown(text)}"
            )
        return text

    return read


def name(called: str, text: str) -> str:
    """Reads the name of a queue, a tag and the like."""
    return check.text(called, text, check.Limits().name)


def truth(called: str, text: str) -> bool:
    """Reads true or false."""
    return bool(one_of("true", "false")(called, text.lower()) == "true")


def moment(called: str, text: str) -> datetime:
    """Reads a time with its zone."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise InvalidArgument(
            f"{called} must be a time with its zone, as 2026-11-01T12:00:00Z, not "
            f"{check.shown(text)}"
        )
    return at


def _url(called: str, text: str) -> str:
    try:
        connect.wanted(text, "any", None, "raw", None, None, RETRY_FOR, TIMEOUT)
    except InvalidArgument:
        # What is wrong with it may be a part of the password.
        schemes = ", ".join(f"{scheme}://" for scheme in connect.SCHEMES)
        raise InvalidArgument(
            f"{called} must begin with one of {schemes}, and be as "
            "redis://user:password@host:port/database, with what is special in user and password "
            "percent-encoded"
        ) from None
    return text


def _namespace(_called: str, text: str) -> str:
    return check.namespace(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where the jobs and events are: by default on the embedded server, as for connect()."""

    url: str = option("url", _url, "", shown=False)
    namespace: str = option("namespace", _namespace, "default")

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """What a user asked for, checked. InvalidArgument names the option that is wrong."""
        known = {each.metadata["name"].lower(): each for each in fields(cls) if each.metadata}
        found: dict[str, Any] = {}
        for key, text in given.items():
            if key.lower() in OF_SPARK:
                continue
            if key.lower() not in known:
                names = ", ".join(each.metadata["name"] for each in known.values())
                raise InvalidArgument(f"there is no option {key!r} here, only {names}")
            each = known[key.lower()]
            found[each.name] = each.metadata["read"](f"option {each.metadata['name']}", text)
        return cls(**found)

    def settled(self) -> Self:
        """The same with a URL that is good on every executor.

        To be called on the driver: elsewhere another embedded server would be meant.
        """
        return self if self.url else replace(self, url=embedded.start())

    def open(self, *, make: bool = False) -> Client:
        """A client that leaves data as it is stored; who only reads makes no namespace."""
        asked = connect.wanted(
            self.url, self.namespace, None, "raw", None, None, RETRY_FOR, TIMEOUT
        )
        core = connect.reach(asked)
        if not make and not drive(core.transport, is_there(core)):
            core.transport.close()
            raise NamespaceNotFound(self.namespace)
        return connect.opened(core, asked)


TABLES = ("events", "jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Server):
    """Which table is read."""

    table: str = option("table", one_of(*TABLES), TABLES[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Events(Table):
    """What a batch and a stream of events have in common."""

    starting: Bound = option("startingOffsets", read_bound, EARLIEST)  # noqa: RUF009
    per_partition: int = option("eventsPerPartition", whole(1), 50_000)
    fail_on_data_loss: bool = option("failOnDataLoss", truth, True)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsBatch(Events):
    """The events between two offsets."""

    ending: Bound = option("endingOffsets", read_bound, LATEST)  # noqa: RUF009
    queue: str = option("queue", name, "")
    kind: str = option("kind", name, "")
    since: datetime | None = option("since", moment, None)  # noqa: RUF009
    push_filters: bool = option("pushFilters", truth, default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsStream(Events):
    """The events from an offset on."""

    per_trigger: int | None = option("maxEventsPerTrigger", whole(1), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs(Table):
    """The jobs that are there."""

    queue: str = option("queue", name, "")
    state: str = option("state", one_of(*STATES), "")
    tag: str = option("tag", name, "")
    push_filters: bool = option("pushFilters", truth, default=False)


CODECS = ("json", "msgpack", "raw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink(Server):
    """How rows become jobs."""

    queue: str = option("queue", name, "")
    codec: str = option("codec", one_of(*CODECS), "json")
    on_exists: str = option("onExists", one_of(*SETTINGS["on_exists"].choices), "")
    write_id: str = option("writeId", name, "")
    # For a replay: rows have a column that names the job of which each is a copy.
    lineage: bool = option("lineage", truth, default=False)

    def with_policy(self, on_exists: str) -> Self:
        """The same, with what becomes of jobs that exist."""
        return replace(self, on_exists=on_exists)

    def open_sink(self) -> Client:
        """A client that writes data with the codec; it makes the namespace if there is none."""
        asked = connect.wanted(
            self.url, self.namespace, None, self.codec, None, None, RETRY_FOR, TIMEOUT
        )
        return connect.connect(asked)
