"""qless: a hash for each job, and of each queue what waits, runs and is scheduled, by score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from headrace.compat.importing.found import (
    FoundJob,
    FoundQueue,
    FoundSchedule,
    Frame,
    Notes,
    Place,
    Thing,
    check_all_found,
    not_of,
    queue_names,
    shown,
    whole_number,
)
from headrace.compat.importing.qless_jobs import KLASS, Stored, read, schedule_of
from headrace.compat.importing.qless_keys import RECURRING, Keys
from headrace.compat.importing.qless_stats import day_keys, days
from headrace.compat.importing.source import in_pages
from headrace.engine.check import LONGEST_MS
from headrace.engine.settings import Value
from headrace.errors import ImportRefused

PREFIX = "ql"
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
CONFIG, TRACKED = b"config", b"tracked"
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
        self._keys = Keys(place.source, self._prefix)
        self._queues = queue_names(place, self._keys.queues())
        self._job_keys = self._keys.jobs()
        if not self._queues and not self._job_keys:
            raise not_of(place, "hash ql:j:<id> and no ql:q:<queue>-work, -locks or -scheduled")
        check_all_found(place, list(self._queues))
        self._is_later = self._written_later()
        self._tracked = frozenset(each for each, _ in self._source.scored(self._keys.of(TRACKED)))

    def _written_later(self) -> bool:
        """Whether a later version has served it, in which higher priorities come first: one job
        that only such a version writes shows it, as that served all of them.
        """
        recurring = self._source.keys(begins=self._keys.of(b"r", b""))
        pages = in_pages([*self._job_keys, *recurring])
        return any(any(self._source.have(page, KLASS)) for page in pages)

    # queues and settings

    def frames(self) -> Iterator[Frame]:
        config = {
            name.decode(errors="replace"): value.decode(errors="replace")
            for name, value in self._source.fields(self._keys.of(CONFIG)).items()
        }
        paused = set(self._source.members(self._keys.of(b"paused_queues")))
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
                    said = whole_number(config.pop(option))
                    if said is not None and said > 0:
                        found.setdefault(name, {})[setting] = min(said, LONGEST_MS // 1000)
        return found

    def _setting(self, option: str, said: str) -> Iterator[Frame]:
        setting, unit = OPTIONS.get(option, ("", 0))
        if not setting:
            self.notes.add("this option has no counterpart here", option, self._keys.of(CONFIG))
        elif (number := whole_number(said)) is None or (setting == "lease" and number <= 0):
            self.notes.add("this option is no number that it can be", option, self._keys.of(CONFIG))
        else:
            later = self._is_later and option == IN_SECONDS_LATER
            yield setting, min(max(0, number) * (1 if later else unit), LONGEST_MS // 1000)

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
        self._note_rest(seen)

    def _note_rest(self, seen: set[bytes]) -> None:
        for each in sorted(self._tracked - seen):
            self.notes.add("tracked, but there is no such job", each, self._keys.of(TRACKED))
        known = self._known()
        for key in self._source.keys(begins=self._keys.of(b"")):
            if key not in known:
                self.notes.add("this key is not known; it stays there", key)

    def _in_queues(self) -> Iterator[Found]:
        for name, given in self._queues.items():
            if not self._place.wants(name):
                continue
            where = self._keys.of(b"q", given)
            for each, _ in self._source.scored(where + b"-locks"):
                yield Found(each, "running")
            waits = [each for each, _ in self._source.scored(where + b"-work")]
            # Later versions serve the highest score first.
            ordered = reversed(waits) if self._is_later else waits
            yield from (Found(each, "waiting") for each in ordered)
            for each, at in self._source.scored(where + b"-scheduled"):
                yield Found(each, "scheduled", at)

    def _failed(self) -> Iterator[Found]:
        for registry in (self._keys.of(b"failures"), self._keys.of(b"failures", b"")):
            for kind in self._source.members(registry):
                for each in self._source.oldest_first(self._keys.of(b"f", kind)):
                    yield Found(each, "failed", None, kind.decode(errors="replace"))

    def _completed(self) -> Iterator[Found]:
        for each, at in self._source.scored(self._keys.of(b"completed")):
            yield Found(each, "complete", at)

    def _elsewhere(self, seen: set[bytes]) -> Iterator[Found]:
        """Jobs that no list names: those that are complete, and what got lost."""
        for page in in_pages(self._job_keys):
            for key, fields in zip(page, self._source.hashes(page), strict=True):
                each = self._keys.id_of(key)
                state = fields.get(b"state", b"").decode(errors="replace")
                if each in seen:
                    continue
                if state not in STATES:
                    why = f"says {state!r}, and no queue has it; it stays there"
                    self.notes.add(why, each, key)
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

    def _stored(self, ids: Sequence[bytes], kind: bytes = b"j") -> list[Stored]:
        keys = [self._keys.of(kind, each) for each in ids]
        hashes = self._source.hashes(keys)
        histories: list[list[bytes]] = [[] for _ in keys]
        if self._is_later and kind == b"j":
            histories = self._source.lists([key + b"-history" for key in keys])
        return [
            Stored(*each, highest_first=self._is_later, is_tracked=each[0] in self._tracked)
            for each in zip(ids, keys, hashes, histories, strict=True)
        ]

    def _blocked(self, seen: set[bytes]) -> Iterator[FoundJob]:
        """Jobs that wait for others, after those."""
        depends: dict[bytes, list[bytes]] = {}
        for given in self._queues.values():
            for each, _ in self._source.scored(self._keys.of(b"q", given) + b"-depends"):
                key = self._keys.of(b"j", each) + b"-dependencies"
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
                blocked = replace(stored, depends_on=tuple(depends[stored.id]))
                yield from self._job(blocked, "blocked", Found(stored.id, "depends"))

    def _recurring(self) -> Iterator[FoundSchedule]:
        for name, given in self._queues.items():
            if not self._place.wants(name):
                continue
            turns = self._source.scored(self._keys.of(b"q", given) + RECURRING)
            for page in in_pages(turns):
                every = self._stored([each for each, _ in page], b"r")
                for (_, at), stored in zip(page, every, strict=True):
                    found = schedule_of(self.notes, stored, name, at)
                    if found is None:
                        self.notes.staying.add(self._keys.of(b"q", given) + RECURRING)
                    else:
                        yield found

    def keys(self) -> Iterator[bytes]:
        for key, owner in self._known().items():
            if owner not in self.notes.staying:
                yield key

    def _known(self) -> dict[bytes, bytes]:
        return self._keys.known(self._queues.values(), self._job_keys)
