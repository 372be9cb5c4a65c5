"""thoonk: feeds with a config each, whose items are in a hash, and their ids in lists by state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from headrace.compat.importing.adopting import Adopted
from headrace.compat.importing.found import (
    FoundFeed,
    FoundItem,
    FoundJob,
    FoundQueue,
    Frame,
    Notes,
    Place,
    Thing,
    badge_of,
    check_all_found,
    job_id,
    not_of,
    queue_names,
    whole_ms,
    whole_number,
)
from headrace.compat.importing.source import in_pages

LEAF, SORTED, QUEUE, JOB = "leaf", "sorted_feed", "queue", "job"
TYPES = {
    LEAF: LEAF,
    "feed": LEAF,
    SORTED: SORTED,
    "sorted": SORTED,
    QUEUE: QUEUE,
    "pyqueue": QUEUE,
    JOB: JOB,
}
PROFILES = {QUEUE: "fifo", JOB: "manual"}
STALLED = "stalled"
# The document spells some roles in several ways; the first one is that of the programs.
ROLES = {
    "config": (b"feed.config:%s",),
    "ids": (b"feed.ids:%s",),
    "items": (b"feed.items:%s", b"feed.items.%s", b"feed:items:%s", b"feed:items%s"),
    "running": (b"feed.running:%s", b"feed.jobrunning:%s", b"feed:jobrunning:%s"),
    "claimed": (b"feed.claimed:%s",),
    "cancelled": (b"feed.cancelled:%s",),
    "stalled": (b"feed.stalled:%s",),
    "counters": (b"feed.publishes:%s", b"feed.idincr:%s", b"feed.publish:%s"),
}
RESULTS = (b"feed.jobfinished:%s:", b"feed:jobfinished:%s:", b"feed.finished:%s\0")
LATEST_SECOND = 1e11


class Feed(NamedTuple):
    """A feed, its keys by role, and its config."""

    name: str
    given: bytes
    type: str
    keys: dict[str, bytes]
    config: dict[str, Any]


class ThoonkReader:
    """The set `feeds`, and of each feed its keys."""

    def __init__(self, place: Place) -> None:
        self.notes = Notes()
        self._place = place
        self._source = place.source
        self._prefix = (place.prefix or "").encode()
        feeds = self._prefix + b"feeds"
        if self._source.kinds([feeds])[feeds] != "set":
            raise not_of(place, "set 'feeds'")
        given = queue_names(place, self._source.members(feeds))
        check_all_found(place, list(given))
        self._feeds = [self._feed(name, each) for name, each in given.items() if place.wants(name)]

    def _feed(self, name: str, given: bytes) -> Feed:
        spelled = {
            (role, self._prefix + form.replace(b"%s", given))
            for role, forms in ROLES.items()
            for form in forms
        }
        kinds = self._source.kinds(key for _, key in spelled)
        keys: dict[str, bytes] = {}
        for role, forms in ROLES.items():
            for form in forms:
                key = self._prefix + form.replace(b"%s", given)
                if kinds[key] != "none":
                    keys.setdefault(role, key)
        config = self._config(keys)
        return Feed(name, given, self._type(name, keys, config), keys, config)

    def _config(self, keys: dict[str, bytes]) -> dict[str, Any]:
        where = keys.get("config")
        if where is None:
            return {}
        if self._source.kinds([where])[where] == "hash":
            return {
                name.decode(errors="replace"): value.decode(errors="replace")
                for name, value in self._source.fields(where).items()
            }
        [stored] = self._source.strings([where])
        try:
            found = msgspec.json.decode(stored or b"{}")
        except msgspec.DecodeError:
            found = None
        if isinstance(found, dict):
            return found
        self.notes.add("this config is not a JSON object, so the feed has none here", where, where)
        return {}

    def _type(self, name: str, keys: dict[str, bytes], config: dict[str, Any]) -> str:
        said = config.get("type")
        if said in TYPES:
            return TYPES[said]
        if keys.keys() & {"running", "claimed", "stalled", "cancelled"}:
            return JOB
        self.notes.add("its config says no type that there is; it is taken for a leaf", name)
        return LEAF

    def frames(self) -> Iterator[Frame]:
        for feed in self._feeds:
            config = {**feed.config, "type": feed.type}
            yield FoundFeed(
                feed.name,
                is_sorted=feed.type == SORTED,
                max_length=_length(feed.config) if feed.type == LEAF else None,
                about=msgspec.json.encode(config).decode(),
            )
            if feed.type in PROFILES:
                yield FoundQueue(feed.name, PROFILES[feed.type])

    def things(self) -> Iterator[Thing]:
        for feed in self._feeds:
            if feed.type in PROFILES:
                yield from self._jobs(feed)
            else:
                yield from self._items(feed)

    # feeds

    def _items(self, feed: Feed) -> Iterator[FoundItem]:
        ids = list(dict.fromkeys(self._ids(feed)))
        strays = set(self._names(feed)) - set(ids)
        for stray in strays:
            self.notes.add(f"has no place in {feed.name!r}, and comes before all others", stray)
        for page in in_pages([*sorted(strays), *ids]):
            for each, item in zip(page, self._values(feed, page), strict=True):
                if item is None:
                    self.notes.add(f"an id of {feed.name!r} without an item", each)
                else:
                    yield FoundItem(feed.name, job_id(each, badge_of(feed.given, each)), item)

    def _ids(self, feed: Feed) -> Iterable[bytes]:
        """The ids in the order in which they are to come: a list has the newest at its left."""
        where = feed.keys.get("ids")
        if where is None:
            return []
        if self._source.kinds([where])[where] == "zset":
            return (each for each, _ in self._source.scored(where))
        if feed.type == SORTED:
            return self._source.newest_first(where)
        return self._source.oldest_first(where)

    def _names(self, feed: Feed) -> Iterable[bytes]:
        return self._source.names(feed.keys["items"]) if "items" in feed.keys else []

    def _values(self, feed: Feed, ids: Sequence[bytes]) -> list[bytes | None]:
        if "items" not in feed.keys:
            return [None] * len(ids)
        return self._source.values(feed.keys["items"], ids)

    # queues and jobs

    def _jobs(self, feed: Feed) -> Iterator[FoundJob]:
        claimed = self._claims(feed)
        waits = list(dict.fromkeys(self._ids(feed)))
        stalled = self._listed(feed, "stalled")
        running = list(dict.fromkeys([*self._listed(feed, "running"), *claimed]))
        placed = {*waits, *stalled}
        strays = sorted(set(self._names(feed)) - {*placed, *running})
        if feed.type == QUEUE:
            for stray in strays:
                why = f"was taken from {feed.name!r}, and stayed"
                self.notes.add(why, stray, feed.keys["items"])
        else:
            running += strays
        first = [each for each in running if each not in placed]
        first.sort(key=lambda each: claimed.get(each, 0))
        counts = self._cancels(feed)
        for was, ids in (("running", first), ("waiting", waits), ("stalled", stalled)):
            for page in in_pages(ids):
                for each, item in zip(page, self._values(feed, page), strict=True):
                    if item is None:
                        self.notes.add(f"an id of {feed.name!r} without an item", each)
                    else:
                        at = claimed.get(each, 0)
                        yield self._job(feed, each, item, was, counts.get(each, 0), at)
        yield from self._results(feed)

    def _job(
        self, feed: Feed, given: bytes, item: bytes, was: str, cancels: int, claimed: int
    ) -> FoundJob:
        badge = badge_of(feed.given, given)
        is_stalled = was == STALLED
        return FoundJob(
            was,
            Adopted(
                id=job_id(given, badge),
                badge=badge,
                queue=feed.name,
                state="failed" if is_stalled else "waiting",
                data=item,
                origin=self._place.origin(feed.given, given),
                attempt=cancels + int(was != "waiting"),
                releases=cancels or None,
                failure=(STALLED, "", claimed, "") if is_stalled else None,
            ),
        )

    def _claims(self, feed: Feed) -> dict[bytes, int]:
        where = feed.keys.get("claimed")
        if where is None:
            return {}
        if self._source.kinds([where])[where] == "zset":
            return {each: _epoch_ms(at) for each, at in self._source.scored(where)}
        return {each: _epoch_ms(at) for each, at in self._source.fields(where).items()}

    def _cancels(self, feed: Feed) -> dict[bytes, int]:
        where = feed.keys.get("cancelled")
        if where is None:
            return {}
        if self._source.kinds([where])[where] != "hash":
            why = "a counter of cancels of all jobs together says nothing of one"
            self.notes.add(why, where, where)
            return {}
        counts = self._source.fields(where).items()
        return {each: max(0, whole_number(times) or 0) for each, times in counts}

    def _listed(self, feed: Feed, role: str) -> list[bytes]:
        where = feed.keys.get(role)
        if where is None:
            return []
        if self._source.kinds([where])[where] == "set":
            return self._source.members(where)
        order = self._source.newest_first if role == "stalled" else self._source.oldest_first
        return list(dict.fromkeys(order(where)))

    def _results(self, feed: Feed) -> Iterator[FoundJob]:
        for form in RESULTS:
            begins = self._prefix + form.replace(b"%s", feed.given)
            for key in self._source.keys(begins=begins):
                given = key.removeprefix(begins)
                first, *others = self._source.newest_first(key)
                for _ in others:
                    self.notes.add(f"more than one result in {feed.name!r}", given, key)
                item, _, result = first.partition(b"\0")
                badge = badge_of(feed.given, given)
                yield FoundJob(
                    "finished",
                    Adopted(
                        id=job_id(given, badge),
                        badge=badge,
                        queue=feed.name,
                        state="complete",
                        data=item,
                        origin=self._place.origin(feed.given, given),
                        attempt=1,
                        result=result,
                    ),
                )

    def keys(self) -> Iterator[bytes]:
        if not self._place.queues:
            yield self._prefix + b"feeds"
        for feed in self._feeds:
            for forms in ROLES.values():
                yield from (self._prefix + form.replace(b"%s", feed.given) for form in forms)
            for form in RESULTS:
                yield from self._source.keys(begins=self._prefix + form.replace(b"%s", feed.given))


def _length(config: dict[str, Any]) -> int | None:
    said = whole_number(str(config.get("max_length", "")))
    return said if said and said > 0 else None


def _epoch_ms(at: bytes | float) -> int:
    """A time in seconds or, as some wrote it, in milliseconds; 0 if it is none."""
    try:
        found = float(at)
    except ValueError:
        return 0
    return round(found) if found > LATEST_SECOND else whole_ms(found) or 0
