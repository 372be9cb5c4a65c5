"""Readers for worqr and redis-queue, which store queues as Redis lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b, md5
from typing import NamedTuple

from headrace.codecs.codec import DIGEST_BYTES
from headrace.compat.importing import entries
from headrace.compat.importing.source_server import in_pages

WORKERS, WORK_MAP = b"Workers", b"WorkMap_"
DONE, DATA = b":done", b":data:"
_POPPED = re.compile(rb"(.+)\|(\d{1,15})", re.DOTALL)


class WorqrKeys(NamedTuple):
    """The keys of worqr: a list for each queue and each process, and marks of unique tasks."""

    queues: dict[str, bytes]
    processes: dict[str, list[bytes]]
    unique_prefix: bytes = b""
    unique_marks: frozenset[bytes] = frozenset()

    def is_unique(self, payload: bytes) -> bool:
        """Return whether a payload is marked as unique."""
        if not self.unique_marks:
            return False
        digest = md5(payload, usedforsecurity=False).hexdigest()
        return self.unique_prefix + digest.encode() in self.unique_marks


def find_program_keys(source: entries.ImportSource, prefix: bytes) -> WorqrKeys | None:
    """Return the keys that the worqr program writes, such as worqr:processes:<queue>_<uuid>."""
    server = source.server
    of_queue, of_process = prefix + b":queues:", prefix + b":processes:"
    queues = {
        entries.queue_name(key.removeprefix(of_queue)): key for key in server.keys(prefix=of_queue)
    }
    processes: dict[str, list[bytes]] = {}
    for key in server.keys(prefix=of_process):
        given, _, _ = key.removeprefix(of_process).rpartition(b"_")
        processes.setdefault(entries.queue_name(given), []).append(key)
    for name in processes:
        queues.setdefault(name, of_queue + name.encode())
    workers = prefix + b":workers"
    if not queues and server.kind(workers) != "set":
        return None
    unique = prefix + b":uniqueTasks:"
    return WorqrKeys(queues, processes, unique, frozenset(server.keys(prefix=unique)))


def find_document_keys(
    source: entries.ImportSource, prefix: bytes, left_out: entries.LeftOut
) -> WorqrKeys | None:
    """Return the keys named as in the worqr document: Q1, P1, W1_Q1, Workers, WorkMap_W1."""
    server = source.server
    # A worker that died may be missing from the set of workers, but its work map remains.
    work_maps = server.keys(prefix=prefix + WORK_MAP)
    workers = {key.removeprefix(prefix + WORK_MAP) for key in work_maps}
    served: dict[str, list[bytes]] = {}
    for worker in workers | set(server.members(prefix + WORKERS)):
        for queue in server.members(prefix + WORK_MAP + worker):
            process_set = prefix + worker + b"_" + queue
            served.setdefault(entries.queue_name(queue), []).append(process_set)
    queues = {name: prefix + name.encode() for name in served}
    chosen = {name: prefix + name.encode() for name in source.queues}
    kinds = server.kinds(chosen.values())
    queues |= {name: key for name, key in chosen.items() if kinds[key] == "list"}
    processes = {
        name: sorted(prefix + process for key in keys for process in server.members(key))
        for name, keys in served.items()
    }
    known = {*queues.values(), *(key for keys in processes.values() for key in keys)}
    for key, kind in server.kinds(server.keys(prefix=prefix)).items():
        if kind == "list" and key not in known:
            left_out.add(
                "no worker serves this list; if the list is a queue, use --queue",
                key,
            )
    if not queues and server.kind(prefix + WORKERS) != "set":
        return None
    return WorqrKeys(queues, processes)


class WorqrReader(entries.SourceReader):
    """Reader of the queue and process lists of worqr; a worqr task has a payload but no id."""

    default_prefix = "worqr"

    def __init__(self, source: entries.ImportSource) -> None:
        super().__init__(source)
        keys = find_program_keys(source, self.prefix) or find_document_keys(
            source, (source.prefix or "").encode(), self.left_out
        )
        if keys is None:
            raise self.nothing_found("worqr:queues:<queue>, worqr:workers or Workers")
        self._keys = keys
        self._queues = self.chosen(keys.queues)

    def setups(self) -> Iterator[entries.Setup]:
        """Yield the queues."""
        for name in self._queues:
            yield entries.FoundQueue(name, "task")

    def read_entries(self) -> Iterator[entries.Entry]:
        """Yield the tasks of every queue, running tasks first."""
        for name, key in self._queues.items():
            seen: Counter[bytes] = Counter()
            for process in self._keys.processes.get(name, []):
                yield from self._jobs(name, process, seen, "running")
            yield from self._jobs(name, key, seen, "waiting")

    def _jobs(
        self, queue: str, key: bytes, seen: Counter[bytes], state: str
    ) -> Iterator[entries.ImportedJob]:
        for payload in self.server.oldest_first(key):
            digest = blake2b(payload, digest_size=DIGEST_BYTES)
            seen[digest.digest()] += 1
            occurrence = seen[digest.digest()]
            import_id = entries.import_id_of(queue, payload, occurrence)
            is_unique = occurrence == 1 and self._keys.is_unique(payload)
            yield entries.ImportedJob(
                id=import_id,
                import_id=import_id,
                queue=queue,
                state="waiting",
                data=payload,
                origin=self.source.origin(queue, import_id),
                attempt=int(state == "running"),
                unique=digest.hexdigest() if is_unique else None,
                source_state=state,
            )


def parse_element(element: bytes) -> tuple[bytes, int | None]:
    """Parse a redis-queue list element; return the id and the pop time (None if not popped)."""
    found = _POPPED.fullmatch(element)
    return (element, None) if found is None else (found[1], int(found[2]))


class RedisQueueReader(entries.SourceReader):
    """Reader of the keys <queue>, <queue>:done and <queue>:data:<id>."""

    def __init__(self, source: entries.ImportSource) -> None:
        super().__init__(source)
        self._kinds = self.server.kinds(self.server.keys(prefix=self.prefix))
        self._queues = self._find_queues()

    def _find_queues(self) -> dict[str, bytes]:
        names: list[bytes] = []
        for key in (key for key, kind in self._kinds.items() if kind == "list"):
            name = key.removeprefix(self.prefix)
            if name.decode(errors="replace") in self.source.queues or self._is_queue(key):
                names.append(name)
            else:
                self.left_out.add(
                    "this list may not be a queue; if the list is a queue, use --queue",
                    key,
                )
        names += [
            key.removeprefix(self.prefix).removesuffix(DONE)
            for key, kind in self._kinds.items()
            if kind == "set" and key.endswith(DONE) and key != DONE
        ]
        given = self.queue_names(names)
        if not given:
            raise self.nothing_found("list that has a set <list>:done or contains <id>|<time>")
        return {name: self.prefix + each for name, each in self.chosen(given).items()}

    def _is_queue(self, key: bytes) -> bool:
        """Return whether a list is a queue.

        A queue has a done set, or popped ids at the left end of the list.
        """
        if self._kinds.get(key + DONE) == "set":
            return True
        page = next(in_pages(self.server.newest_first(key)), [])
        return any(parse_element(element)[1] is not None for element in page)

    def setups(self) -> Iterator[entries.Setup]:
        """Yield the queues."""
        for name in self._queues:
            yield entries.FoundQueue(name, "ring")

    def read_entries(self) -> Iterator[entries.Entry]:
        """Yield the jobs of every queue, popped jobs first."""
        for name, key in self._queues.items():
            yield from self._queue_jobs(name, key)

    def _queue_jobs(self, queue: str, key: bytes) -> Iterator[entries.ImportedJob]:
        done = set(self.server.members(key + DONE))
        popped: dict[bytes, int] = {}
        waiting: dict[bytes, None] = {}
        seen: set[bytes] = set()
        for element in self.server.oldest_first(key):
            tid, popped_at = parse_element(element)
            seen.add(tid)
            if popped_at is None:
                if tid in waiting:
                    self.left_out.add(f"this id is twice in {queue!r}; imported as one job", tid)
                waiting[tid] = None
            elif tid in done:
                self.left_out.add(f"already done in {queue!r}", tid)
            else:
                popped[tid] = popped_at
        for tid in done - seen:
            self.left_out.add(f"marked as done in {queue!r}, but not in the queue", tid)
        for tid in popped.keys() & waiting.keys():
            self.left_out.add(f"this id is twice in {queue!r}; imported as one job", tid)
            del waiting[tid]
        by_time = sorted(popped, key=lambda tid: (popped[tid], tid))
        yield from self._jobs(queue, key, "running", by_time)
        yield from self._jobs(queue, key, "waiting", list(waiting))

    def _jobs(
        self, queue: str, key: bytes, state: str, ids: list[bytes]
    ) -> Iterator[entries.ImportedJob]:
        for page in in_pages(ids):
            messages = self.server.strings([key + DATA + tid for tid in page])
            for tid, message in zip(page, messages, strict=True):
                data = tid if message is None else message
                attempt = int(state == "running")
                yield self.job(queue, tid, state, state="waiting", data=data, attempt=attempt)
