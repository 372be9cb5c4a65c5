"""Reader of thoonk: a config for each feed, a hash of items, and their ids in lists by state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from headrace.compat.importing.entries import (
    Entry,
    FoundFeed,
    FoundItem,
    FoundQueue,
    ImportSource,
    Setup,
    SourceReader,
    import_id_of,
    job_id,
    whole_ms,
    whole_number,
)
from headrace.compat.importing.operations import ImportedJob
from headrace.compat.importing.source_server import in_pages
from headrace.compat.thoonk.job_feeds import STALLED
from headrace.compat.thoonk.registry import LEAF, PROFILES, SORTED
from headrace.compat.thoonk.registry import TYPES as API_TYPES

QUEUE, JOB = "queue", "job"
TYPES = {**API_TYPES, "sorted": SORTED, "pyqueue": QUEUE}
# The document spells some roles in several ways; the programs write the first one.
ROLES = {
    "config": (b"feed.config:%s",),
    "ids": (b"feed.ids:%s",),
    "items": (b"feed.items:%s", b"feed.items.%s", b"feed:items:%s", b"feed:items%s"),
    "running": (b"feed.running:%s", b"feed.jobrunning:%s", b"feed:jobrunning:%s"),
    "claimed": (b"feed.claimed:%s",),
    "cancelled": (b"feed.cancelled:%s",),
    "stalled": (b"feed.stalled:%s",),
}
RESULTS = (b"feed.jobfinished:%s:", b"feed:jobfinished:%s:", b"feed.finished:%s\0")
LATEST_SECOND = 1e11


class SourceFeed(NamedTuple):
    """A feed at the source: its keys by role and its config."""

    name: str
    given: bytes
    type: str
    keys: dict[str, bytes]
    config: dict[str, Any]


class ThoonkReader(SourceReader):
    """Reader of the set `feeds` and of the keys of each feed."""

    def __init__(self, source: ImportSource) -> None:
        super().__init__(source)
        feeds = self.prefix + b"feeds"
        if self.server.kind(feeds) != "set":
            raise self.nothing_found("set 'feeds'")
        given = self.chosen(self.queue_names(self.server.members(feeds)))
        self._feeds = [self._feed(name, each) for name, each in given.items()]

    def _feed(self, name: str, given: bytes) -> SourceFeed:
        spelled = {
            self.prefix + form.replace(b"%s", given): role
            for role, forms in ROLES.items()
            for form in forms
        }
        keys: dict[str, bytes] = {}
        for key, kind in self.server.kinds(spelled).items():
            if kind != "none":
                keys.setdefault(spelled[key], key)
        config = self._config(keys)
        return SourceFeed(name, given, self._type(name, keys, config), keys, config)

    def _config(self, keys: dict[str, bytes]) -> dict[str, Any]:
        key = keys.get("config")
        if key is None:
            return {}
        if self.server.kind(key) == "hash":
            return dict(self.server.text_fields(key))
        [stored] = self.server.strings([key])
        try:
            found = msgspec.json.decode(stored or b"{}")
        except msgspec.DecodeError:
            found = None
        if isinstance(found, dict):
            return found
        self.left_out.add("this config is not a JSON object; the feed has none here", key)
        return {}

    def _type(self, name: str, keys: dict[str, bytes], config: dict[str, Any]) -> str:
        given = config.get("type")
        if given in TYPES:
            return TYPES[given]
        if keys.keys() & {"running", "claimed", "stalled", "cancelled"}:
            return JOB
        self.left_out.add("its config has no known type; imported as a leaf", name)
        return LEAF

    def setups(self) -> Iterator[Setup]:
        """Yield the feeds, and the queues of those that have one."""
        for feed in self._feeds:
            config = {**feed.config, "type": feed.type}
            yield FoundFeed(
                feed.name,
                is_sorted=feed.type == SORTED,
                max_length=_max_length(feed.config) if feed.type == LEAF else None,
                about=msgspec.json.encode(config).decode(),
            )
            if feed.type in PROFILES:
                yield FoundQueue(feed.name, PROFILES[feed.type])

    def entries(self) -> Iterator[Entry]:
        """Yield the items and jobs of every feed."""
        for feed in self._feeds:
            yield from self._jobs(feed) if feed.type in PROFILES else self._items(feed)

    # Feeds.

    def _items(self, feed: SourceFeed) -> Iterator[FoundItem]:
        ids = list(dict.fromkeys(self._ids(feed)))
        unlisted = sorted(set(self._names(feed)) - set(ids))
        for each in unlisted:
            self.left_out.add(
                f"not in the order of {feed.name!r}; imported before the others", each
            )
        for each, item in self._with_items(feed, [*unlisted, *ids]):
            yield FoundItem(feed.name, job_id(each, import_id_of(feed.given, each)), item)

    def _ids(self, feed: SourceFeed) -> Iterable[bytes]:
        """Yield the ids in the order of import; a list has the newest id at its left end."""
        key = feed.keys.get("ids")
        if key is None:
            return []
        if self.server.kind(key) == "zset":
            return (each for each, _ in self.server.scored(key))
        if feed.type == SORTED:
            return self.server.newest_first(key)
        return self.server.oldest_first(key)

    def _names(self, feed: SourceFeed) -> Iterable[bytes]:
        return self.server.names(feed.keys["items"]) if "items" in feed.keys else []

    def _with_items(self, feed: SourceFeed, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Yield ids with their items, without the ids that have none."""
        for page in in_pages(ids):
            items: list[bytes | None] = [None] * len(page)
            if "items" in feed.keys:
                items = self.server.values(feed.keys["items"], page)
            for each, item in zip(page, items, strict=True):
                if item is None:
                    self.left_out.add(f"an id of {feed.name!r} without an item", each)
                else:
                    yield each, item

    # Queues and jobs.

    def _jobs(self, feed: SourceFeed) -> Iterator[ImportedJob]:
        claimed = self._claimed(feed)
        waiting = list(dict.fromkeys(self._ids(feed)))
        stalled = self._listed(feed, "stalled")
        running = list(dict.fromkeys([*self._listed(feed, "running"), *claimed]))
        placed = {*waiting, *stalled}
        unlisted = sorted(set(self._names(feed)) - {*placed, *running})
        if feed.type == QUEUE:
            for each in unlisted:
                self.left_out.add(f"was taken from {feed.name!r}, but its item remained", each)
        else:
            # A worker died halfway through a thoonk operation, which is not atomic.
            running += unlisted
        first = [each for each in running if each not in placed]
        first.sort(key=lambda each: claimed.get(each, 0))
        cancels = self._cancels(feed)
        for state, ids in (("running", first), ("waiting", waiting), (STALLED, stalled)):
            for each, item in self._with_items(feed, ids):
                times, at = cancels.get(each, 0), claimed.get(each, 0)
                is_stalled = state == STALLED
                yield self.job(
                    feed.name,
                    each,
                    state,
                    state="failed" if is_stalled else "waiting",
                    data=item,
                    attempt=times + int(state != "waiting"),
                    releases=times or None,
                    failure=(STALLED, "", at, "") if is_stalled else None,
                )
        yield from self._results(feed)

    def _claimed(self, feed: SourceFeed) -> dict[bytes, int]:
        key = feed.keys.get("claimed")
        if key is None:
            return {}
        if self.server.kind(key) == "zset":
            return {each: _epoch_ms(at) for each, at in self.server.scored(key)}
        return {each: _epoch_ms(at) for each, at in self.server.fields(key).items()}

    def _cancels(self, feed: SourceFeed) -> dict[bytes, int]:
        key = feed.keys.get("cancelled")
        if key is None:
            return {}
        if self.server.kind(key) != "hash":
            self.left_out.add("this cancel count is of all jobs together, not of one", key)
            return {}
        counts = self.server.fields(key).items()
        return {each: max(0, whole_number(times) or 0) for each, times in counts}

    def _listed(self, feed: SourceFeed, role: str) -> list[bytes]:
        key = feed.keys.get(role)
        if key is None:
            return []
        if self.server.kind(key) == "set":
            return self.server.members(key)
        order = self.server.newest_first if role == "stalled" else self.server.oldest_first
        return list(dict.fromkeys(order(key)))

    def _results(self, feed: SourceFeed) -> Iterator[ImportedJob]:
        for form in RESULTS:
            prefix = self.prefix + form.replace(b"%s", feed.given)
            for key in self.server.keys(prefix=prefix):
                given = key.removeprefix(prefix)
                first, *others = self.server.newest_first(key)
                for _ in others:
                    self.left_out.add(f"more than one result in {feed.name!r}", given)
                item, _, result = first.partition(b"\0")
                yield self.job(
                    feed.name,
                    given,
                    "finished",
                    state="complete",
                    data=item,
                    attempt=1,
                    result=result,
                )


def _max_length(config: dict[str, Any]) -> int | None:
    given = whole_number(str(config.get("max_length", "")))
    return given if given and given > 0 else None


def _epoch_ms(at: bytes | float) -> int:
    """Return a time in seconds (some versions: milliseconds) as milliseconds; 0 if it is none."""
    try:
        found = float(at)
    except ValueError:
        return 0
    return round(found) if found > LATEST_SECOND else whole_ms(found) or 0
