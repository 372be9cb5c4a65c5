"""qless: a hash for each job, and of each queue what waits, runs and is scheduled, by score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from headrace.engine.profile import Value
from headrace.errors import ImportRefused
from headrace.importing.found import (
    FoundJob,
    FoundQueue,
    FoundSchedule,
    Frame,
    Notes,
    Place,
    Thing,
    check_all_found,
    not_of,
    queue_name,
    shown,
)
from headrace.importing.qless_jobs import Stored, read, schedule_of
from headrace.importing.qless_stats import day_keys, days
from headrace.importing.source import in_pages

PREFIX = "ql"
PARTS = (b"-work", b"-locks", b"-scheduled", b"-depends")
RECURRING = b"-recur"
STATES = {
    "waiting": "waiting",
    "scheduled": "scheduled",
    "running": "waiting",
    "pending": "waiting",
    "stalled": "waiting",
    "failed": "failed",
    "complete": "complete",
}
DAY = 86_400
# An option, the setting it is here, and what one of its units is in the document.
OPTIONS: dict[str, tuple[str, int]] = {
    "heartbeat": ("lease", 1),
    "stats-history": ("stats_age", DAY),
    "histogram-history": ("histogram_age", DAY),
    "jobs-history-count": ("keep_count", 1),
    "jobs-history": ("keep_age", DAY),
    "max-job-history": ("history", 1),
}
IN_SECONDS_LATER = "jobs-history"
OF_A_QUEUE = {"-heartbeat": "lease", "-max-concurrency": "concurrency"}


class Found(NamedTuple):
    """A job, the state in which it was found, when it is due or was completed, and its failure."""

    id: bytes
    was: str
    at: float | None = None
    kind: str = "failed"


class QlessReader:
    """The keys ql:j:<id>, ql:q:<queue>-work and so on."""

    def __init__(self, place: Place) -> None:
        self.notes = Notes()
        self._place = place
        self._source = place.source
        self._prefix = (place.prefix or PREFIX).encode()
        self._queues = self._found_queues()
        self._job_keys = self._found_jobs()
        if not self._queues and not self._job_keys:
            raise not_of(place, "hash ql:j:<id> and no ql:q:<queue>-work, -locks or -scheduled")
        check_all_found(place, list(self._queues))
        self._is_later = self._written_later()

    def _key(self, *parts: bytes) -> bytes:
        return b":".join((self._prefix, *parts))

    def _found_queues(self) -> dict[str, bytes]:
        begins = self._key(b"q", b"")
        given = [each for each, _ in self._source.scored(self._key(b"queues"))]
        for part in (*PARTS, RECURRING):
            keys = self._source.keys(begins=begins, ends=part)
            given += [key.removeprefix(begins).removesuffix(part) for key in keys]
        return {queue_name(each): each for each in dict.fromkeys(given)}

    def _found_jobs(self) -> list[bytes]:
        keys = self._source.keys(begins=self._key(b"j", b""))
        kinds = self._source.kinds(keys)
        return [key for key in keys if kinds[key] == "hash"]

    def _written_later(self) -> bool:
        for page in in_pages(self._job_keys[:1]):
            return any(b"klass" in fields for fields in self._source.hashes(page))
        return False

    # queues and settings

    def frames(self) -> Iterator[Frame]:
        config = {
            name.decode(errors="replace"): value.decode(errors="replace")
            for name, value in self._source.fields(self._key(b"config")).items()
        }
        paused = set(self._source.members(self._key(b"paused_queues")))
        of_queues = self._of_queues(config)
        for option, said in sorted(config.items()):
            yield from self._setting(option, said)
        for name, given in self._queues.items():
            if self._place.wants(name):
                settings = of_queues.get(name, {})
                if given in paused:
                    settings["paused"] = True
                yield FoundQueue(name, "job", settings)

    def _of_queues(self, config: dict[str, str]) -> dict[str, dict[str, Value]]:
        found: dict[str, dict[str, Value]] = {}
        for option in list(config):
            for ending, setting in OF_A_QUEUE.items():
                name = option.removesuffix(ending)
                if option.endswith(ending) and name in self._queues:
                    said = config.pop(option)
                    if said.isdigit() and int(said) > 0:
                        found.setdefault(name, {})[setting] = int(said)
        return found

    def _setting(self, option: str, said: str) -> Iterator[Frame]:
        setting, unit = OPTIONS.get(option, ("", 0))
        if not setting:
            self.notes.add("this option has no counterpart here", option)
        elif not said.lstrip("-").isdigit():
            self.notes.add("this option is no whole number", option)
        else:
            later = self._is_later and option == IN_SECONDS_LATER
            yield setting, max(0, int(said)) * (1 if later else unit)

    # jobs and statistics

    def things(self) -> Iterator[Thing]:
        seen: set[bytes] = set()
        yield from self._read(self._in_queues(), seen)
        yield from self._read(self._failed(), seen)
        yield from self._read(self._completed(), seen)
        yield from self._blocked(seen)
        yield from self._read(self._elsewhere(seen), seen)
        yield from self._recurring()
        found = day_keys(self._source, self._prefix, set(self._queues), self.notes)
        yield from days(self._place, found, self.notes)

    def _in_queues(self) -> Iterator[Found]:
        for name, given in self._queues.items():
            if not self._place.wants(name):
                continue
            where = self._key(b"q", given)
            for each, _ in self._source.scored(where + b"-locks"):
                yield Found(each, "running")
            waits = [each for each, _ in self._source.scored(where + b"-work")]
            # Later versions serve the highest score first.
            ordered = reversed(waits) if self._is_later else waits
            yield from (Found(each, "waiting") for each in ordered)
            for each, at in self._source.scored(where + b"-scheduled"):
                yield Found(each, "scheduled", at)

    def _failed(self) -> Iterator[Found]:
        for registry in (self._key(b"failures"), self._key(b"failures", b"")):
            for kind in self._source.members(registry):
                for each in self._source.oldest_first(self._key(b"f", kind)):
                    yield Found(each, "failed", None, kind.decode(errors="replace"))

    def _completed(self) -> Iterator[Found]:
        for each, at in self._source.scored(self._key(b"completed")):
            yield Found(each, "complete", at)

    def _elsewhere(self, seen: set[bytes]) -> Iterator[Found]:
        """Jobs that no list names: those that are complete, and what got lost."""
        begins = self._key(b"j", b"")
        for page in in_pages(self._job_keys):
            ids = [key.removeprefix(begins) for key in page]
            for each, fields in zip(ids, self._source.hashes(page), strict=True):
                state = fields.get(b"state", b"").decode(errors="replace")
                if each in seen:
                    continue
                if state not in STATES:
                    self.notes.add(f"says {state!r}, and no queue has it; it stays there", each)
                    continue
                if state != "complete":
                    why = f"says {state!r}, but no queue has it; it comes all the same"
                    self.notes.add(why, each)
                yield Found(each, state)

    def _read(self, found: Iterable[Found], seen: set[bytes]) -> Iterator[FoundJob]:
        for page in in_pages(each for each in found if each.id not in seen):
            new = {each.id: each for each in page if each.id not in seen}
            seen.update(new)
            for stored, each in zip(self._stored(list(new)), new.values(), strict=True):
                if not stored.fields:
                    self.notes.add(f"listed as {each.was}, but there is no such job", stored.id)
                elif each.was == "complete" and stored.text("state") not in ("complete", ""):
                    # A completed job that was put again stayed listed as complete.
                    seen.discard(stored.id)
                else:
                    yield from self._job(stored, STATES[each.was], each)

    def _job(self, stored: Stored, state: str, found: Found) -> Iterator[FoundJob]:
        job = read(self._place, self.notes, stored, state, found.at, found.kind)
        if self._place.wants(job.queue):
            yield FoundJob(found.was, job)

    def _stored(self, ids: Sequence[bytes]) -> list[Stored]:
        keys = [self._key(b"j", each) for each in ids]
        hashes = self._source.hashes(keys)
        if not self._is_later:
            return [Stored(each, fields) for each, fields in zip(ids, hashes, strict=True)]
        histories = self._source.lists([key + b"-history" for key in keys])
        return [Stored(*each) for each in zip(ids, hashes, histories, strict=True)]

    def _blocked(self, seen: set[bytes]) -> Iterator[FoundJob]:
        """Jobs that wait for others, after those."""
        depends: dict[bytes, list[bytes]] = {}
        for given in self._queues.values():
            for each, _ in self._source.scored(self._key(b"q", given) + b"-depends"):
                key = self._key(b"j", each) + b"-dependencies"
                depends[each] = self._source.members(key)
        try:
            ordered = [
                each for each in TopologicalSorter(depends).static_order() if each in depends
            ]
        except CycleError as error:
            raise ImportRefused(
                f"job {shown(error.args[1][0])!r} depends on itself, through others, and will "
                "never run: cancel it at the source first"
            ) from error
        for page in in_pages(ordered):
            seen.update(page)
            for stored in self._stored(page):
                if not stored.fields:
                    self.notes.add("listed as depends, but there is no such job", stored.id)
                    continue
                parents = tuple(each.decode(errors="replace") for each in depends[stored.id])
                blocked = Stored(stored.id, stored.fields, stored.apart, parents)
                yield from self._job(blocked, "blocked", Found(stored.id, "depends"))

    def _recurring(self) -> Iterator[FoundSchedule]:
        for name, given in self._queues.items():
            if not self._place.wants(name):
                continue
            turns = self._source.scored(self._key(b"q", given) + RECURRING)
            for page in in_pages(turns):
                hashes = self._source.hashes([self._key(b"r", each) for each, _ in page])
                for (each, at), fields in zip(page, hashes, strict=True):
                    found = schedule_of(self.notes, Stored(each, fields), name, at)
                    if found is not None:
                        yield found

    def keys(self) -> Iterator[bytes]:
        stay = self._staying()
        for key in self._source.keys(begins=self._key(b"")):
            if key not in stay:
                yield key

    def _staying(self) -> set[bytes]:
        """Jobs that are not brought, and so not deleted either."""
        stay = set()
        for page in in_pages(self._job_keys):
            for key, fields in zip(page, self._source.hashes(page), strict=True):
                state = fields.get(b"state", b"").decode(errors="replace")
                if state not in (*STATES, "depends"):
                    stay.add(key)
        return stay
