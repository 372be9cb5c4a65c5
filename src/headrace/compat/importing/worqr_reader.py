"""Reader of worqr: a list of payloads for each queue, and one for each process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b, md5

from headrace.codecs.codec import DIGEST_BYTES
from headrace.compat.importing.entries import (
    Entry,
    FoundJob,
    FoundQueue,
    ImportSource,
    LeftOut,
    Setup,
    check_all_found,
    import_id_of,
    nothing_found,
    queue_name,
)
from headrace.compat.importing.operations import ImportedJob

PREFIX = "worqr"
WORKERS, WORK_MAP = b"Workers", b"WorkMap_"


@dataclass(slots=True)
class WorqrKeys:
    """The lists of each queue and of its processes, and the prefix of marks for unique tasks."""

    queues: dict[str, bytes] = field(default_factory=dict)
    processes: dict[str, list[bytes]] = field(default_factory=dict)
    unique_prefix: bytes = b""
    unique_marks: frozenset[bytes] = frozenset()

    def is_unique(self, payload: bytes) -> bool:
        """Return whether a payload is marked as unique."""
        if not self.unique_marks:
            return False
        digest = md5(payload, usedforsecurity=False).hexdigest()
        return self.unique_prefix + digest.encode() in self.unique_marks


def find_program_keys(source: ImportSource, prefix: bytes) -> WorqrKeys | None:
    """Return the keys as the program writes them, such as worqr:processes:<queue>_<uuid>."""
    server = source.server
    of_queue, of_process = prefix + b":queues:", prefix + b":processes:"
    queues = {queue_name(key.removeprefix(of_queue)): key for key in server.keys(prefix=of_queue)}
    processes: dict[str, list[bytes]] = {}
    for key in server.keys(prefix=of_process):
        given, _, _ = key.removeprefix(of_process).rpartition(b"_")
        processes.setdefault(queue_name(given), []).append(key)
    for name in processes:
        queues.setdefault(name, of_queue + name.encode())
    workers = prefix + b":workers"
    if not queues and server.kinds([workers])[workers] != "set":
        return None
    unique = prefix + b":uniqueTasks:"
    return WorqrKeys(queues, processes, unique, frozenset(server.keys(prefix=unique)))


def find_document_keys(source: ImportSource, prefix: bytes, left_out: LeftOut) -> WorqrKeys | None:
    """Return the keys as the document draws them: Q1, P1, W1_Q1, Workers, WorkMap_W1."""
    server = source.server
    # A worker that died may be missing in the set of workers, but its work map remains.
    work_maps = server.keys(prefix=prefix + WORK_MAP)
    workers = {key.removeprefix(prefix + WORK_MAP) for key in work_maps}
    served: dict[str, list[bytes]] = {}
    for worker in workers | set(server.members(prefix + WORKERS)):
        for queue in server.members(prefix + WORK_MAP + worker):
            process_set = prefix + worker + b"_" + queue
            served.setdefault(queue_name(queue), []).append(process_set)
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
            left_out.add("no worker serves this list; if it is a queue, use --queue", key)
    if not queues and server.kinds([prefix + WORKERS])[prefix + WORKERS] != "set":
        return None
    return WorqrKeys(queues, processes)


class WorqrReader:
    """Reader of the tasks of queues and processes; a task has no id, only its payload."""

    def __init__(self, source: ImportSource) -> None:
        self.left_out = LeftOut()
        self._source = source
        keys = find_program_keys(source, (source.prefix or PREFIX).encode()) or find_document_keys(
            source, (source.prefix or "").encode(), self.left_out
        )
        if keys is None:
            raise nothing_found(source, f"{PREFIX}:queues:<queue>, {PREFIX}:workers or Workers")
        self._keys = keys
        check_all_found(source, list(keys.queues))
        self._names = [name for name in keys.queues if source.wants(name)]

    def setups(self) -> Iterator[Setup]:
        """Yield the queues."""
        for name in self._names:
            yield FoundQueue(name, "task")

    def entries(self) -> Iterator[Entry]:
        """Yield the tasks of every queue, those of processes first."""
        for name in self._names:
            seen: Counter[bytes] = Counter()
            for process in self._keys.processes.get(name, []):
                yield from self._jobs(name, process, seen, "running")
            yield from self._jobs(name, self._keys.queues[name], seen, "waiting")

    def _jobs(self, queue: str, key: bytes, seen: Counter[bytes], state: str) -> Iterator[FoundJob]:
        for payload in self._source.server.oldest_first(key):
            digest = blake2b(payload, digest_size=DIGEST_BYTES)
            seen[digest.digest()] += 1
            occurrence = seen[digest.digest()]
            import_id = import_id_of(queue, payload, occurrence)
            is_unique = occurrence == 1 and self._keys.is_unique(payload)
            yield FoundJob(
                state,
                ImportedJob(
                    id=import_id,
                    import_id=import_id,
                    queue=queue,
                    state="waiting",
                    data=payload,
                    origin=self._source.origin(queue, import_id),
                    attempt=int(state == "running"),
                    unique=digest.hexdigest() if is_unique else None,
                ),
            )
