"""The options of format("headrace"): one dataclass for each use, read and checked once.

A field that is an option has its name and the function that reads its text. Spark passes values as
text and ignores the case of names. The URL may contain a password, so it is never shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Self

from headrace.client import connect
from headrace.client.client import Client
from headrace.codecs.codec import Codec
from headrace.engine import check
from headrace.engine.settings import SETTINGS
from headrace.engine.states import STATES
from headrace.errors import InvalidArgument, NamespaceNotFound
from headrace.local_server import embedded
from headrace.operations.namespace import namespace_exists
from headrace.spark.offsets import EARLIEST, LATEST, Bound, read_bound
from headrace.transport.drive import drive

# Reads an option, given its name for errors and its text.
Read = Callable[[str, str], Any]

# Options that Spark itself passes to sources and sinks.
OF_SPARK = frozenset({"checkpointlocation", "queryname"})
MOST = 10**9
RETRY_FOR = 15.0
TIMEOUT = 30.0


def option(name: str, read: Read, default: Any, *, shown: bool = True) -> Any:
    """Return a dataclass field for an option with this name."""
    return field(default=default, repr=shown, metadata={"name": name, "read": read})


def whole(least: int, most: int = MOST) -> Read:
    """Return a reader of whole numbers within bounds."""

    def read(called: str, text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text[:20]) <= most):
            raise InvalidArgument(
                f"{called} must be a whole number from {least} to {most}, not {check.shown(text)}"
            )
        return int(text)

    return read


def one_of(*words: str) -> Read:
    """Return a reader that accepts only these words."""

    def read(called: str, text: str) -> str:
        if text not in words:
            raise InvalidArgument(
                f"{called} must be one of {', '.join(words)}, not {check.shown(text)}"
            )
        return text

    return read


def name(called: str, text: str) -> str:
    """Read the name of a queue, a tag or a write."""
    return check.text(called, text, check.Limits().name)


def truth(called: str, text: str) -> bool:
    """Read true or false."""
    return bool(one_of("true", "false")(called, text.lower()) == "true")


def moment(called: str, text: str) -> datetime:
    """Read a timestamp with a time zone."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise InvalidArgument(
            f"{called} must be a timestamp with a time zone, such as 2026-11-01T12:00:00Z, not "
            f"{check.shown(text)}"
        )
    return at


def _url(called: str, text: str) -> str:
    try:
        connect.ConnectOptions(text, "any")
    except InvalidArgument:
        # The invalid part may be a part of the password, so the message does not show it.
        schemes = ", ".join(f"{scheme}://" for scheme in connect.SCHEMES)
        raise InvalidArgument(
            f"{called} must begin with one of {schemes} and look like "
            "redis://user:password@host:port/database, with special characters in user and "
            "password percent-encoded"
        ) from None
    return text


def _namespace(_called: str, text: str) -> str:
    return check.namespace(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """The server and namespace; by default the embedded server, as for connect().

    server = ServerAddress(url="redis://localhost:6379", namespace="shop")
    """

    url: str = option("url", _url, "", shown=False)
    namespace: str = option("namespace", _namespace, "default")

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """Return the options of a user. Raises InvalidArgument that names a wrong option."""
        known = {each.metadata["name"].lower(): each for each in fields(cls) if each.metadata}
        found: dict[str, Any] = {}
        for key, text in given.items():
            if key.lower() in OF_SPARK:
                continue
            if key.lower() not in known:
                names = ", ".join(each.metadata["name"] for each in known.values())
                raise InvalidArgument(f"unknown option {key!r}; the options are {names}")
            each = known[key.lower()]
            found[each.name] = each.metadata["read"](f"option {each.metadata['name']}", text)
        return cls(**found)

    def settled(self) -> Self:
        """Return the same options with the URL of the embedded server filled in.

        Call this on the driver: on another machine it would be another embedded server.
        """
        return self if self.url else replace(self, url=embedded.start())

    def open(self) -> Client:
        """Connect with codec "raw", which returns the stored bytes.

        Raises NamespaceNotFound if the namespace does not exist.
        """
        asked = self._options("raw", RETRY_FOR, TIMEOUT)
        core = connect.connect_core(asked)
        if not drive(core.transport, namespace_exists(core)):
            core.transport.close()
            raise NamespaceNotFound(self.namespace)
        return connect.open_client(core, asked)

    def open_with(self, codec: str | Codec, retry_for: float, timeout: float) -> Client:
        """Connect with a codec. Create the namespace if it does not exist."""
        return connect.connect(self._options(codec, retry_for, timeout))

    def _options(
        self, codec: str | Codec, retry_for: float, timeout: float
    ) -> connect.ConnectOptions:
        return connect.ConnectOptions(
            self.url, self.namespace, codec=codec, retry_for=retry_for, timeout=timeout
        )


TABLES = ("events", "jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions(ServerAddress):
    """The table to read."""

    table: str = option("table", one_of(*TABLES), TABLES[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsOptions(TableOptions):
    """The options that a batch and a stream of events share."""

    starting: Bound = option("startingOffsets", read_bound, EARLIEST)  # noqa: RUF009
    per_partition: int = option("eventsPerPartition", whole(1), 50_000)
    fail_on_data_loss: bool = option("failOnDataLoss", truth, True)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsBatchOptions(EventsOptions):
    """The options for the events between two offsets."""

    ending: Bound = option("endingOffsets", read_bound, LATEST)  # noqa: RUF009
    queue: str = option("queue", name, "")
    kind: str = option("kind", name, "")
    since: datetime | None = option("since", moment, None)  # noqa: RUF009


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsStreamOptions(EventsOptions):
    """The options for the events from an offset on."""

    per_trigger: int | None = option("maxEventsPerTrigger", whole(1), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsOptions(TableOptions):
    """The options for the present jobs."""

    queue: str = option("queue", name, "")
    state: str = option("state", one_of(*STATES), "")
    tag: str = option("tag", name, "")


CODECS = ("json", "msgpack", "raw")


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions(ServerAddress):
    """The options for writing rows as jobs."""

    queue: str = option("queue", name, "")
    codec: str = option("codec", one_of(*CODECS), "json")
    on_exists: str = option("onExists", one_of(*SETTINGS["on_exists"].choices), "")
    write_id: str = option("writeId", name, "")
    # For a replay: a column has the id of the job that each row is a copy of.
    lineage: bool = option("lineage", truth, default=False)

    def open_sink(self) -> Client:
        """Connect with the codec of the sink. Create the namespace if it does not exist."""
        return self.open_with(self.codec, RETRY_FOR, TIMEOUT)
