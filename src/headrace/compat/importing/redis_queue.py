"""redis-queue: a list of ids, each alone or with the second in which it was last popped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.compat.importing.adopting import Adopted
from headrace.compat.importing.found import (
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
)
from headrace.compat.importing.source import in_pages

DONE, DATA = b":done", b":data:"
_POPPED = re.compile(rb"(.+)\|(\d{1,15})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """An element of the list."""

    id: bytes
    popped: int | None


def entry_of(element: bytes) -> Entry:
    """What an element says; what does not end in a time is an id as it was pushed."""
    found = _POPPED.fullmatch(element)
    return Entry(element, None) if found is None else Entry(found[1], int(found[2]))


class RedisQueueReader:
    """The keys <queue>, <queue>:done and <queue>:data:<id>."""

    def __init__(self, place: Place) -> None:
        self.notes = Notes()
        self._place = place
        self._source = place.source
        self._prefix = (place.prefix or "").encode()
        self._kinds = place.source.kinds(place.source.keys(begins=self._prefix))
        self._queues = self._found()

    def _found(self) -> dict[str, bytes]:
        lists = [key for key, kind in self._kinds.items() if kind == "list"]
        asked = self._place.queues
        shown: list[bytes] = []
        for key in lists:
            name = key.removeprefix(self._prefix)
            if (asked and name.decode(errors="replace") in asked) or self._shows_it(key):
                shown.append(name)
            else:
                self.notes.add("nothing shows that this list is a queue; --queue names it", key)
        shown += [key.removeprefix(self._prefix) for key in self._done_sets()]
        given = queue_names(self._place, shown)
        found = {name: self._prefix + each for name, each in given.items()}
        if not found:
            raise not_of(self._place, "list with a set <list>:done, or with entries <id>|<time>")
        check_all_found(self._place, list(found))
        return {name: key for name, key in found.items() if self._place.wants(name)}

    def _done_sets(self) -> list[bytes]:
        return [
            key.removesuffix(DONE)
            for key, kind in self._kinds.items()
            if kind == "set" and key.endswith(DONE) and key != DONE
        ]

    def _shows_it(self, key: bytes) -> bool:
        """Whether a list has what only a queue has; what was popped is at its left end."""
        if self._kinds.get(key + DONE) == "set":
            return True
        page = next(in_pages(self._source.newest_first(key)), [])
        return any(entry_of(element).popped is not None for element in page)

    def frames(self) -> Iterator[Frame]:
        for name in self._queues:
            yield FoundQueue(name, "ring")

    def things(self) -> Iterator[Thing]:
        for name, key in self._queues.items():
            yield from self._of_queue(name, key)

    def _of_queue(self, queue: str, key: bytes) -> Iterator[FoundJob]:
        done = set(self._source.members(key + DONE))
        popped: dict[bytes, int] = {}
        waits: dict[bytes, None] = {}
        met: set[bytes] = set()
        for element in self._source.oldest_first(key):
            entry = entry_of(element)
            met.add(entry.id)
            if entry.popped is None:
                if entry.id in waits:
                    self.notes.add(f"twice in {queue!r}, which is one job here", entry.id)
                waits[entry.id] = None
            elif entry.id in done:
                self.notes.add(f"done in {queue!r}, which keeps nothing of that", entry.id)
            else:
                popped[entry.id] = entry.popped
        for marked in done - met:
            self.notes.add(f"a done mark of {queue!r} for what is not there", marked)
        for twice in popped.keys() & waits.keys():
            self.notes.add(f"twice in {queue!r}, which is one job here", twice)
            del waits[twice]
        first = sorted(popped, key=lambda each: (popped[each], each))
        yield from self._jobs(queue, key, "running", first)
        yield from self._jobs(queue, key, "waiting", list(waits))

    def _jobs(self, queue: str, key: bytes, was: str, ids: list[bytes]) -> Iterator[FoundJob]:
        for page in in_pages(ids):
            messages = self._source.strings([key + DATA + each for each in page])
            for each, message in zip(page, messages, strict=True):
                badge = badge_of(queue, each)
                yield FoundJob(
                    was,
                    Adopted(
                        id=job_id(each, badge),
                        badge=badge,
                        queue=queue,
                        state="waiting",
                        data=each if message is None else message,
                        origin=self._place.origin(queue, each),
                        attempt=int(was == "running"),
                    ),
                )

    def keys(self) -> Iterator[bytes]:
        for key in self._queues.values():
            yield from (key, key + DONE)
            entries = map(entry_of, self._source.oldest_first(key))
            yield from (key + DATA + entry.id for entry in entries)
