"""Create, open, configure and delete feeds of thoonk.

Each thoonk feed is a Headrace feed whose `about` text is the thoonk config. So Headrace creates,
configures or deletes a feed together with its config, and publishes the change, in one step. If the
feed is a queue or holds jobs, its items are in the Headrace queue with the feed's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from headrace.compat.common import decode_json, is_configured
from headrace.compat.thoonk.errors import NotAllowed
from headrace.errors import FeedExists, FeedNotFound, InvalidArgument, QueueNotFound
from headrace.feeds import operations
from headrace.operations import queues
from headrace.operations.core import Core
from headrace.operations.paging import all_items
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation

FeedConfig = dict[str, Any]

LEAF = "leaf"
SORTED = "sorted_feed"
PROFILES = {"queue": "fifo", "job": "manual"}
# The thoonk document calls a plain feed a leaf, and the thoonk code calls it a feed.
TYPES = {LEAF: LEAF, "feed": LEAF, SORTED: SORTED, "queue": "queue", "job": "job"}


class TypedConfig(NamedTuple):
    """The type and the config of a feed."""

    type: str
    config: FeedConfig


class ThoonkFeed:
    """A feed of thoonk, of any type."""

    type: str
    sorted = False

    def __init__(self, core: Core, name: str) -> None:
        self.core = core
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core.namespace!r}>"


def read_feed(core: Core, name: str) -> Operation[TypedConfig]:
    """Return the type and config of a feed. Raises FeedDoesNotExist if the feed is missing."""
    found = yield from operations.info(core, operations.check_feed(core, name))
    if found is None:
        raise FeedNotFound(name)
    return decode_config(found)


def decode_config(found: operations.FeedInfo) -> TypedConfig:
    """Return a feed's type and config; without a thoonk config, derive both from the settings."""
    fields = found.fields
    config: Any = None
    with suppress(msgspec.DecodeError, RecursionError):
        config = msgspec.json.decode(fields["about"])
    if not isinstance(config, dict) or not _is_type(config.get("type")):
        config = {"type": SORTED if fields["kind"] == "sorted" else LEAF}
        if fields["max_length"]:
            config["max_length"] = int(fields["max_length"])
    return TypedConfig(TYPES[config["type"]], config)


def _is_type(given: object) -> bool:
    return isinstance(given, str) and given in TYPES


def check_exists(feed: ThoonkFeed) -> Operation[None]:
    """Raise FeedDoesNotExist unless the feed exists and still has the same type."""
    if (yield from read_feed(feed.core, feed.name)).type != feed.type:
        raise FeedNotFound(feed.name)


def parse_config(config: Mapping[str, Any] | str | None, default_type: str) -> TypedConfig:
    """Parse a config from a dict or JSON. Raises InvalidArgument if the type is unknown."""
    if isinstance(config, str):
        config = decode_json("config", config)
    if config is not None and not isinstance(config, Mapping):
        raise InvalidArgument(f"config must be a dict or JSON, not {type(config).__name__}")
    whole = {"type": default_type, **(config or {})}
    if not _is_type(whole["type"]):
        raise InvalidArgument(
            f"the type of a feed must be one of {', '.join(TYPES)}, not {whole['type']!r}"
        )
    return TypedConfig(TYPES[whole["type"]], whole)


def _feed_settings(core: Core, wanted: TypedConfig) -> FeedConfig:
    """Return the settings of the Headrace feed: the config as text, and the maximum length."""
    try:
        about = msgspec.json.encode(wanted.config).decode()
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"config cannot be encoded as JSON: {error}") from error
    if len(about.encode()) > core.limits.message:
        raise InvalidArgument(
            f"config must have at most {core.limits.message} bytes, not {len(about)}"
        )
    max_length = wanted.config.get("max_length")
    if max_length is not None and wanted.type != LEAF:
        raise InvalidArgument(f"only a leaf has a max_length, not a feed of type {wanted.type}")
    return {"about": about, "max_length": max_length}


def create(client: ClientLike, name: str, config: Mapping[str, Any] | str | None) -> Operation[str]:
    """Create a feed with this config and return its type. Raises FeedExists if the feed exists."""
    core = client.core
    operations.check_feed(core, name)
    wanted = parse_config(config, LEAF)
    settings = _feed_settings(core, wanted)
    if wanted.type in PROFILES:
        if (yield from operations.feed_exists(client, name)):
            raise FeedExists(name)
        yield from _check_queue(QueueRef(core, name), wanted.type)
    yield from operations.make(core, name, sorted=wanted.type == SORTED, **settings)
    yield from ensure_queue(core, name, wanted.type)
    return wanted.type


def open_as(
    client: ClientLike, name: str, config: Mapping[str, Any] | str | None, type_name: str
) -> Operation[None]:
    """Open a feed of this type. If the feed does not exist, create it with this config.

    In a namespace with the setting `strict_feeds`, raise FeedDoesNotExist instead. Raises
    NotAllowed if the existing feed has another type.
    """
    wanted = parse_config(config, type_name)
    if wanted.type != type_name:
        raise InvalidArgument(
            f"the config has type {wanted.type!r}, but this call opens {type_name!r}"
        )
    with suppress(FeedExists):
        if not (yield from queues.config_get(client, "strict_feeds")):
            yield from create(client, name, wanted.config)
            return
    found = yield from read_feed(client.core, name)
    if found.type != type_name:
        raise NotAllowed(
            name,
            f"has type {found.type}, not {type_name}; open it as {found.type} or use another name",
        )
    yield from ensure_queue(client.core, name, type_name)


def open_by_name(client: ClientLike, name: str) -> Operation[str]:
    """Open a feed, and return the type that the feed's config names."""
    found = yield from read_feed(client.core, name)
    yield from ensure_queue(client.core, name, found.type)
    return found.type


def ensure_queue(core: Core, name: str, type_name: str) -> Operation[None]:
    """Give a feed's queue the settings for the type of the feed, unless the queue has settings.

    Each client that opens a feed calls this function, because the creator of the feed may have died
    before this step.
    """
    if type_name in PROFILES:
        queue = QueueRef(core, name)
        if not (yield from _check_queue(queue, type_name)):
            yield from queues.configure(queue, PROFILES[type_name])


def _check_queue(queue: QueueRef, type_name: str) -> Operation[bool]:
    """Return whether the queue has settings. Raises NotAllowed if they do not match the type."""
    if not (yield from is_configured(queue)):
        return False
    if (yield from queues.settings(queue))["removes"] is not (type_name == "queue"):
        raise NotAllowed(
            queue.name,
            f"cannot be a {type_name}: a queue of this name has other settings; use another name "
            "or delete that queue",
        )
    return True


def delete_feed(client: ClientLike, feed: str) -> Operation[None]:
    """Delete a feed with its items and jobs. Raises FeedDoesNotExist if the feed is missing."""
    core = client.core
    found = yield from read_feed(core, feed)
    target = ThoonkFeed(core, feed)
    if found.type in PROFILES:
        with suppress(QueueNotFound):
            yield from queues.delete(target)
    yield from operations.delete(target)
    if found.type in PROFILES:
        # A client may have put a job after the first deletion of the queue.
        with suppress(QueueNotFound):
            yield from queues.delete(target)


def set_config(client: ClientLike, feed: str, config: Mapping[str, Any] | str) -> Operation[None]:
    """Replace the config of a feed with a dict or JSON. Raises NotAllowed if the type changes."""
    core = client.core
    found = yield from read_feed(core, feed)
    wanted = parse_config(config, found.type)
    if wanted.type != found.type:
        raise NotAllowed(
            feed,
            f"has type {found.type}, which cannot change to {wanted.type}; delete the feed first",
        )
    target = ThoonkFeed(core, feed)
    target.sorted = found.type == SORTED
    yield from operations.configure(target, **_feed_settings(core, wanted))


def get_config(client: ClientLike, feed: str) -> Operation[FeedConfig]:
    """Return the config of a feed. Raises FeedDoesNotExist if there is no such feed."""
    return (yield from read_feed(client.core, feed)).config


def get_feeds(client: ClientLike) -> Operation[set[str]]:
    """Return the names of all feeds."""
    return set((yield from all_items(operations.feeds, client)))
