"""The feeds that there are, and their configs.

Every feed of thoonk, of whatever type, is a feed of Headrace with its config as the text about it.
So it is made, configured and deleted together with its config, in one step that is told. The items
of a queue or of jobs are in the Headrace queue of the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from headrace.compat.opening import chosen
from headrace.compat.thoonk.errors import FeedDoesNotExist, FeedExists, NotAllowed
from headrace.engine.check import PAGE
from headrace.errors import InvalidArgument, QueueNotFound
from headrace.feeds import operations
from headrace.operations import queues
from headrace.operations.core import Core
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import QueueRef
from headrace.transport.drive import Operation

Config = dict[str, Any]

LEAF = "leaf"
SORTED = "sorted_feed"
PROFILES = {"queue": "fifo", "job": "manual"}
# A plain feed is a leaf in the document and a feed in the code of thoonk.
TYPES = {LEAF: LEAF, "feed": LEAF, SORTED: SORTED, "queue": "queue", "job": "job"}


class Known(NamedTuple):
    """A feed that is there."""

    type: str
    config: Config


class Facts:
    """What a feed of thoonk knows without asking the server."""

    type: str
    sorted = False

    def __init__(self, core: Core, name: str) -> None:
        self.core = core
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core.namespace!r}>"


def known(core: Core, name: str) -> Operation[Known]:
    """The feed of this name, which must be there."""
    found = yield from operations.info(core, operations.check_feed(core, name))
    if found is None:
        raise FeedDoesNotExist(name)
    return read(found)


def read(found: operations.Info) -> Known:
    """The type and the config of a feed; one that thoonk has not made has those it behaves by."""
    fields = found.fields
    config: Any = None
    with suppress(msgspec.DecodeError, RecursionError):
        config = msgspec.json.decode(fields["about"])
    if not isinstance(config, dict) or not _is_type(config.get("type")):
        config = {"type": SORTED if fields["kind"] == "sorted" else LEAF}
        if fields["max_length"]:
            config["max_length"] = int(fields["max_length"])
    return Known(TYPES[config["type"]], config)


def _is_type(given: object) -> bool:
    """Whether a feed can have this as its type; a config may say anything."""
    return isinstance(given, str) and given in TYPES


def present(feed: Facts) -> Operation[None]:
    """Makes sure that the feed is there, and is still what it was."""
    if (yield from known(feed.core, feed.name)).type != feed.type:
        raise FeedDoesNotExist(feed.name)


def checked(config: Mapping[str, Any] | str | None, default_type: str) -> Known:
    """A config as a dict or as JSON, with a type that there is."""
    if isinstance(config, str):
        try:
            config = msgspec.json.decode(config)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise InvalidArgument(f"config is not JSON: {error}") from error
    if config is not None and not isinstance(config, Mapping):
        raise InvalidArgument(f"config must be a dict or JSON, not {type(config).__name__}")
    whole = {"type": default_type, **(config or {})}
    if not _is_type(whole["type"]):
        raise InvalidArgument(f"a feed has a type of {', '.join(TYPES)}, not {whole['type']!r}")
    return Known(TYPES[whole["type"]], whole)


def _stored(core: Core, wanted: Known) -> Config:
    """What Headrace is told of the feed: the config as a text, and what it can do about it."""
    about = _json(wanted.config)
    if len(about.encode()) > core.limits.message:
        raise InvalidArgument(f"a config may have {core.limits.message} bytes, not {len(about)}")
    most = wanted.config.get("max_length")
    if most is not None and wanted.type != LEAF:
        raise InvalidArgument(f"only a leaf has a max_length, not a feed of type {wanted.type}")
    return {"about": about, "max_length": most}


def _json(config: Config) -> str:
    """A config as JSON."""
    try:
        return msgspec.json.encode(config).decode()
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"config cannot be written as JSON: {error}") from error


def create(client: ClientLike, name: str, config: Mapping[str, Any] | str | None) -> Operation[str]:
    """Makes a feed with its config and returns its type; raises FeedExists if there is one."""
    core = client.core
    operations.check_feed(core, name)
    wanted = checked(config, LEAF)
    stored = _stored(core, wanted)
    if wanted.type in PROFILES:
        if (yield from operations.feed_exists(client, name)):
            raise FeedExists(name)
        yield from _fitting(QueueRef(core, name), wanted.type)
    kind = "sorted" if wanted.type == SORTED else "plain"
    yield from operations.make(core, name, kind=kind, **stored)
    yield from settle(core, name, wanted.type)
    return wanted.type


def open_as(
    client: ClientLike, name: str, config: Mapping[str, Any] | str | None, type_name: str
) -> Operation[None]:
    """Makes a feed of a type, or opens the one of this type that is there, with its own config."""
    wanted = checked(config, type_name)
    if wanted.type != type_name:
        raise InvalidArgument(f"config says type {wanted.type!r}, the call {type_name!r}")
    with suppress(FeedExists):
        yield from create(client, name, wanted.config)
        return
    found = yield from known(client.core, name)
    if found.type != type_name:
        raise NotAllowed(
            name, f"is of type {found.type}, not {type_name}; open it as that, or take another name"
        )
    yield from settle(client.core, name, type_name)


def open_by_name(client: ClientLike, name: str) -> Operation[str]:
    """Opens a feed as what its config says, and returns its type."""
    found = yield from known(client.core, name)
    yield from settle(client.core, name, found.type)
    return found.type


def settle(core: Core, name: str, type_name: str) -> Operation[None]:
    """Gives the queue of a feed its profile, unless it has one.

    Whoever opens the feed sees to it, so it makes no difference if who made the feed died before.
    """
    if type_name in PROFILES:
        queue = QueueRef(core, name)
        if not (yield from _fitting(queue, type_name)):
            yield from queues.configure(queue, PROFILES[type_name])


def _fitting(queue: QueueRef, type_name: str) -> Operation[bool]:
    """Whether somebody has chosen how the queue behaves; raises if that cannot be a feed so."""
    if not (yield from chosen(queue)):
        return False
    if (yield from queues.settings(queue))["removes"] is not (type_name == "queue"):
        raise NotAllowed(
            queue.name,
            f"cannot be a {type_name}: there is a queue of this name that behaves otherwise; "
            "take another name, or delete that queue",
        )
    return True


def delete_feed(client: ClientLike, feed: str) -> Operation[None]:
    """Deletes a feed with everything of it; nothing is left."""
    core = client.core
    found = yield from known(core, feed)
    face = Facts(core, feed)
    if found.type in PROFILES:
        with suppress(QueueNotFound):
            yield from queues.delete(face)
    yield from operations.delete(face)
    if found.type in PROFILES:
        # What somebody put between the two steps goes too.
        with suppress(QueueNotFound):
            yield from queues.delete(face)


def set_config(client: ClientLike, feed: str, config: Mapping[str, Any] | str) -> Operation[None]:
    """Replaces the config of a feed, a dict or JSON; a feed keeps its type."""
    core = client.core
    found = yield from known(core, feed)
    wanted = checked(config, found.type)
    if wanted.type != found.type:
        raise NotAllowed(
            feed, f"is of type {found.type} and stays so; delete it to make one of {wanted.type}"
        )
    face = Facts(core, feed)
    face.sorted = found.type == SORTED
    yield from operations.configure(face, **_stored(core, wanted))


def get_config(client: ClientLike, feed: str) -> Operation[Config]:
    """The config of a feed."""
    return (yield from known(client.core, feed)).config


def feed_exists(client: ClientLike, feed: str) -> Operation[bool]:
    """Whether there is a feed of this name."""
    return (yield from operations.feed_exists(client, feed))


def get_feeds(client: ClientLike) -> Operation[set[str]]:
    """The names of all feeds."""
    found: set[str] = set()
    offset = 0
    while page := (yield from operations.feeds(client, offset=offset, count=PAGE)):
        found.update(page)
        offset += len(page)
    return found
