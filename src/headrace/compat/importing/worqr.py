"""worqr: a list of payloads for each queue, and one for each process, with one payload or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b, md5
from typing import Protocol

from headrace.codecs.codec import DIGEST_BYTES
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
    not_of,
    queue_name,
)

PREFIX = "worqr"
WORKERS, WORK_MAP = b"Workers", b"WorkMap_"


class Layout(Protocol):
    """How the keys are spelled."""

    @property
    def queues(self) -> dict[str, bytes]:
        """The list of each queue."""

    def processes(self, queue: str) -> list[bytes]:
        """The lists of what is being worked on."""

    def is_unique(self, payload: bytes) -> bool:
        """Whether a payload may not be queued again before it is finished."""

    def keys(self, queue: str) -> Iterator[bytes]:
        """The other keys of a queue."""


@dataclass(frozen=True, slots=True)
class Written:
    """As the program writes them: worqr:queues:<queue>, worqr:processes:<queue>_<uuid>."""

    place: Place
    prefix: bytes
    queues: dict[str, bytes]
    by_queue: dict[str, list[bytes]]
    unique: frozenset[bytes]

    @classmethod
    def found(cls, place: Place, prefix: bytes) -> Written:
        begins, running = prefix + b":queues:", prefix + b":processes:"
        queues = {
            queue_name(key.removeprefix(begins)): key for key in place.source.keys(begins=begins)
        }
        by_queue: dict[str, list[bytes]] = {}
        for key in place.source.keys(begins=running):
            given, _, _ = key.removeprefix(running).rpartition(b"_")
            by_queue.setdefault(queue_name(given), []).append(key)
        for name in by_queue:
            queues.setdefault(name, begins + name.encode())
        unique = frozenset(place.source.keys(begins=prefix + b":uniqueTasks:"))
        return cls(place, prefix, queues, by_queue, unique)

    def is_there(self) -> bool:
        """Whether anything is spelled so."""
        workers = self.prefix + b":workers"
        return bool(self.queues) or self.place.source.kinds([workers])[workers] == "set"

    def processes(self, queue: str) -> list[bytes]:
        return self.by_queue.get(queue, [])

    def is_unique(self, payload: bytes) -> bool:
        return bool(self.unique) and self._mark(payload) in self.unique

    def _mark(self, payload: bytes) -> bytes:
        digest = md5(payload, usedforsecurity=False).hexdigest()
        return self.prefix + b":uniqueTasks:" + digest.encode()

    def keys(self, queue: str) -> Iterator[bytes]:
        yield self.prefix + b":workingProcesses:" + queue.encode()
        source = self.place.source
        for where in (self.queues[queue], *self.processes(queue)):
            marks = {self._mark(payload) for payload in source.oldest_first(where)}
            yield from marks & self.unique


@dataclass(frozen=True, slots=True)
class Drawn:
    """As the document draws them: Q1, P1, W1_Q1, Workers, WorkMap_W1."""

    place: Place
    prefix: bytes
    queues: dict[str, bytes]
    served: dict[str, list[bytes]]

    @classmethod
    def found(cls, place: Place, prefix: bytes, notes: Notes) -> Drawn:
        source = place.source
        served: dict[str, list[bytes]] = {}
        for worker in _workers(place, prefix):
            for queue in source.members(prefix + WORK_MAP + worker):
                held = prefix + worker + b"_" + queue
                served.setdefault(queue_name(queue), []).append(held)
        queues = {name: prefix + name.encode() for name in served}
        asked = {name: prefix + name.encode() for name in place.queues}
        kinds = source.kinds(asked.values())
        queues |= {name: key for name, key in asked.items() if kinds[key] == "list"}
        drawn = cls(place, prefix, queues, served)
        taken = {*queues.values(), *(key for name in served for key in drawn.processes(name))}
        for key, kind in source.kinds(source.keys(begins=prefix)).items():
            if kind == "list" and key not in taken:
                notes.add("no worker serves this list; --queue says that it is a queue", key)
        return drawn

    def is_there(self) -> bool:
        """Whether anything is spelled so."""
        workers = self.prefix + WORKERS
        return bool(self.queues) or self.place.source.kinds([workers])[workers] == "set"

    def processes(self, queue: str) -> list[bytes]:
        return sorted(
            self.prefix + process
            for held in self.served.get(queue, [])
            for process in self.place.source.members(held)
        )

    def is_unique(self, payload: bytes) -> bool:  # noqa: ARG002 - there it does not exist
        return False

    def keys(self, queue: str) -> Iterator[bytes]:
        yield from self.served.get(queue, [])


def _workers(place: Place, prefix: bytes) -> set[bytes]:
    """Those that are listed, and those that died and left what they served."""
    source = place.source
    begins = prefix + WORK_MAP
    left = {key.removeprefix(begins) for key in source.keys(begins=begins)}
    return left | set(source.members(prefix + WORKERS))


class WorqrReader:
    """The tasks of queues and processes, which have no ids but their payloads."""

    def __init__(self, place: Place) -> None:
        self.notes = Notes()
        self._place = place
        written = Written.found(place, (place.prefix or PREFIX).encode())
        self._layout: Layout = written
        if not written.is_there():
            drawn = Drawn.found(place, (place.prefix or "").encode(), self.notes)
            if not drawn.is_there():
                raise not_of(place, f"{PREFIX}:queues:<queue>, {PREFIX}:workers or Workers")
            self._layout = drawn
        check_all_found(place, list(self._layout.queues))
        self._names = [name for name in self._layout.queues if place.wants(name)]

    def frames(self) -> Iterator[Frame]:
        for name in self._names:
            yield FoundQueue(name, "task")

    def things(self) -> Iterator[Thing]:
        for name in self._names:
            seen: Counter[bytes] = Counter()
            for process in self._layout.processes(name):
                yield from self._jobs(name, process, seen, "running")
            yield from self._jobs(name, self._layout.queues[name], seen, "waiting")

    def _jobs(self, queue: str, where: bytes, seen: Counter[bytes], was: str) -> Iterator[FoundJob]:
        for payload in self._place.source.oldest_first(where):
            digest = blake2b(payload, digest_size=DIGEST_BYTES)
            seen[digest.digest()] += 1
            times = seen[digest.digest()]
            badge = badge_of(queue, payload, times)
            is_unique = times == 1 and self._layout.is_unique(payload)
            yield FoundJob(
                was,
                Adopted(
                    id=badge,
                    badge=badge,
                    queue=queue,
                    state="waiting",
                    data=payload,
                    origin=self._place.origin(queue, badge),
                    attempt=int(was == "running"),
                    unique=digest.hexdigest() if is_unique else None,
                ),
            )

    def keys(self) -> Iterator[bytes]:
        for name in self._names:
            yield self._layout.queues[name]
            yield from self._layout.processes(name)
            yield from set(self._layout.keys(name))
