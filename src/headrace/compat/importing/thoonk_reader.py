"""Reader for thoonk: each feed has a config, a hash of items, and lists of item ids by state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from headrace.compat.importing import entries
from headrace.compat.importing.source_server import in_pages
from headrace.compat.thoonk.job_feeds import STALLED
from headrace.compat.thoonk.registry import LEAF, PROFILES, SORTED
from headrace.compat.thoonk.registry import TYPES as API_TYPES

QUEUE, JOB = "queue", "job"
TYPES = {**API_TYPES, "sorted": SORTED, "pyqueue": QUEUE}
# For each part of a feed (config, ids, items and so on): the possible names of its key. The thoonk
# programs write the first name; the other names are spellings in the thoonk document.
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
    """A feed at the source: its config, and the key and key type of each part in ROLES."""

    name: str
    given: bytes
    type: str
    keys: dict[str, bytes]
    kinds: dict[str, str]
    config: dict[str, Any]


class ThoonkReader(entries.SourceReader):
    """Reads the set `feeds`, and the keys that belong to each feed."""

    def __init__(self, source: entries.ImportSource) -> None:
        super().__init__(source)
        feeds = self.prefix + b"feeds"
        if self.server.kind(feeds) != "set":
            raise self.nothing_found("set 'feeds'")
        given = self.chosen(self.queue_names(self.server.members(feeds)))
        self._feeds = [self._feed(name, each) for name, each in given.items()]

    def _feed(self, name: str, given: bytes) -> SourceFeed:
        keys: dict[str, bytes] = {}
        kinds: dict[str, str] = {}
        for role, forms in ROLES.items():
            spelled = self.server.kinds(self.prefix + form.replace(b"%s", given) for form in forms)
            existing = [key for key, kind in spelled.items() if kind != "none"]
            keys[role] = next(iter(existing or spelled))
            kinds[role] = spelled[keys[role]]
        config = self._config(keys["config"], kinds["config"])
        return SourceFeed(name, given, self._type(name, kinds, config), keys, kinds, config)

    def _config(self, key: bytes, kind: str) -> dict[str, Any]:
        if kind == "hash":
            return dict(self.server.text_fields(key))
        [stored] = self.server.strings([key])
        try:
            found = msgspec.json.decode(stored or b"{}")
        except msgspec.DecodeError:
            found = None
        if isinstance(found, dict):
            return found
        self.left_out.add("not a JSON object; the feed is imported without config", key)
        return {}

    def _type(self, name: str, kinds: dict[str, str], config: dict[str, Any]) -> str:
        given = config.get("type")
        if given in TYPES:
            return TYPES[given]
        if any(kinds[role] != "none" for role in ("running", "claimed", "stalled", "cancelled")):
            return JOB
        self.left_out.add("the config has no known type; the feed is imported as a leaf", name)
        return LEAF

    def setups(self) -> Iterator[entries.Setup]:
        """Yield the feeds, and the queue of each feed that has a queue."""
        for feed in self._feeds:
            config = {**feed.config, "type": feed.type}
            yield entries.FoundFeed(
                feed.name,
                is_sorted=feed.type == SORTED,
                max_length=_max_length(feed.config) if feed.type == LEAF else None,
                about=msgspec.json.encode(config).decode(),
            )
            if feed.type in PROFILES:
                yield entries.FoundQueue(feed.name, PROFILES[feed.type])

    def read_entries(self) -> Iterator[entries.Entry]:
        """Yield the items and jobs of every feed."""
        for feed in self._feeds:
            yield from self._jobs(feed) if feed.type in PROFILES else self._items(feed)

    # Feeds.

    def _items(self, feed: SourceFeed) -> Iterator[entries.FoundItem]:
        ids = list(dict.fromkeys(self._ids(feed)))
        unlisted = sorted(set(self.server.names(feed.keys["items"])) - set(ids))
        for each in unlisted:
            self.left_out.add(
                f"not in the list of ids of {feed.name!r}; imported before the other items", each
            )
        for each, item in self._with_items(feed, [*unlisted, *ids]):
            yield entries.FoundItem(
                feed.name, entries.job_id(each, entries.import_id_of(feed.given, each)), item
            )

    def _ids(self, feed: SourceFeed) -> Iterable[bytes]:
        """Yield the ids in the order of import; a list has the newest id at its left end."""
        key = feed.keys["ids"]
        if feed.kinds["ids"] == "zset":
            return (each for each, _ in self.server.scored(key))
        if feed.type == SORTED:
            return self.server.newest_first(key)
        return self.server.oldest_first(key)

    def _with_items(self, feed: SourceFeed, ids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Yield the ids with their items; skip ids without an item."""
        for page in in_pages(ids):
            items = self.server.values(feed.keys["items"], page)
            for each, item in zip(page, items, strict=True):
                if item is None:
                    self.left_out.add(f"an id of {feed.name!r} without an item", each)
                else:
                    yield each, item

    # Queues and jobs.

    def _jobs(self, feed: SourceFeed) -> Iterator[entries.ImportedJob]:
        claimed = self._claimed(feed)
        waiting = list(dict.fromkeys(self._ids(feed)))
        stalled = self._listed(feed, "stalled")
        running = list(dict.fromkeys([*self._listed(feed, "running"), *claimed]))
        placed = {*waiting, *stalled}
        names = set(self.server.names(feed.keys["items"]))
        unlisted = sorted(names - {*placed, *running})
        if feed.type == QUEUE:
            for each in unlisted:
                self.left_out.add(f"taken by a consumer of {feed.name!r}; the item remained", each)
        else:
            # The operations of thoonk are not atomic. If a worker died halfway through an
            # operation, a job may be in no list.
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
        key = feed.keys["claimed"]
        is_sorted = feed.kinds["claimed"] == "zset"
        times = self.server.scored(key) if is_sorted else self.server.fields(key).items()
        return {each: _epoch_ms(at) for each, at in times}

    def _cancels(self, feed: SourceFeed) -> dict[bytes, int]:
        key = feed.keys["cancelled"]
        if feed.kinds["cancelled"] not in ("hash", "none"):
            self.left_out.add("this cancel count is for all jobs together, not for each job", key)
            return {}
        counts = self.server.fields(key).items()
        return {each: max(0, entries.whole_number(times) or 0) for each, times in counts}

    def _listed(self, feed: SourceFeed, role: str) -> list[bytes]:
        key = feed.keys[role]
        if feed.kinds[role] == "set":
            return self.server.members(key)
        order = self.server.newest_first if role == "stalled" else self.server.oldest_first
        return list(dict.fromkeys(order(key)))

    def _results(self, feed: SourceFeed) -> Iterator[entries.ImportedJob]:
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
    given = entries.whole_number(str(config.get("max_length", "")))
    return given if given and given > 0 else None


def _epoch_ms(at: bytes | float) -> int:
    """Convert a time in seconds (some versions: milliseconds) to milliseconds; 0 if invalid."""
    try:
        found = float(at)
    except ValueError:
        return 0
    return round(found) if found > LATEST_SECOND else entries.whole_ms(found) or 0
