"""The options of format("headrace"), with one dataclass for each table, stream and sink.

Each field has the name of its option and the function that parses the text of the option. Spark
passes option values as text and ignores the case of option names. The URL may contain a password,
so no error message and no repr shows the URL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Self

from headrace.client import connect
from headrace.client.client import Client
from headrace.client.server_url import SCHEMES
from headrace.codecs.codec import Codec
from headrace.engine import check
from headrace.engine.settings import SETTINGS
from headrace.engine.states import STATES
from headrace.errors import InvalidArgument, NamespaceNotFound
from headrace.local_server import embedded
from headrace.operations.namespace import namespace_exists
from headrace.spark.offsets import EARLIEST, LATEST, Bound, read_bound
from headrace.transport.drive import drive

# A function that parses an option. The arguments are the name of the option, for error messages,
# and the text of the option.
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
    """Return a function that parses a whole number within bounds."""

    def read(called: str, text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text[:20]) <= most):
            raise InvalidArgument(
                f"{called} must be a whole number from {least} to {most}, not {check.shown(text)}"
            )
        return int(text)

    return read


def one_of(*words: str) -> Read:
    """Return a function that accepts only these words."""
    return lambda called, text: check.choice(called, text, words)


def name(called: str, text: str) -> str:
    """Parse the name of a queue, a tag or a write."""
    return check.text(called, text, check.Limits().name)


def truth(called: str, text: str) -> bool:
    """Parse true or false."""
    return check.choice(called, text.lower(), ("true", "false")) == "true"


def moment(called: str, text: str) -> datetime:
    """Parse a timestamp with a time zone."""
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
        schemes = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise InvalidArgument(
            f"{called} must begin with one of {schemes} and look like "
            "redis://user:password@host:port/database, with special characters in user and "
            "password percent-encoded"
        ) from None
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAddress:
    """The server and the namespace. The default is the embedded server, as for connect().

    server = ServerAddress(url="redis://localhost:6379", namespace="shop")
    """

    url: str = option("url", _url, "", shown=False)
    namespace: str = option("namespace", lambda _, text: check.namespace(text), "default")

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Self:
        """Parse the user's options. Raises InvalidArgument with the name of an invalid option."""
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
        """Return these options, with the URL of the embedded server if no URL is set.

        Call this method on the driver, because every machine has its own embedded server.
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
    """The options that all tables share."""

    table: str = option("table", one_of(*TABLES), TABLES[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsOptions(TableOptions):
    """The options that a batch and a stream of events share."""

    starting: Bound = option("startingOffsets", read_bound, EARLIEST)  # noqa: RUF009
    per_partition: int = option("eventsPerPartition", whole(1), 50_000)
    fail_on_data_loss: bool = option("failOnDataLoss", truth, True)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsBatchOptions(EventsOptions):
    """The options for reading the events between two offsets as a batch."""

    ending: Bound = option("endingOffsets", read_bound, LATEST)  # noqa: RUF009
    queue: str = option("queue", name, "")
    kind: str = option("kind", name, "")
    since: datetime | None = option("since", moment, None)  # noqa: RUF009


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsStreamOptions(EventsOptions):
    """The options for reading the events after an offset as a stream."""

    per_trigger: int | None = option("maxEventsPerTrigger", whole(1), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsOptions(TableOptions):
    """The options for reading the current jobs."""

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
    # A replay sets this option. The rows of a replay have the id of the copied job in the column
    # origin.
    lineage: bool = option("lineage", truth, default=False)

    def open_sink(self) -> Client:
        """Connect with the codec of the sink. Create the namespace if it does not exist."""
        return self.open_with(self.codec, RETRY_FOR, TIMEOUT)
