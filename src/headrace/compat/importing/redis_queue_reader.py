"""Reader of redis-queue: a list of ids, each alone or with the second in which it was popped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.compat.importing.entries import (
    Entry,
    FoundJob,
    FoundQueue,
    ImportSource,
    LeftOut,
    Setup,
    check_all_found,
    import_id_of,
    job_id,
    nothing_found,
    queue_names,
)
from headrace.compat.importing.operations import ImportedJob
from headrace.compat.importing.source_server import in_pages

DONE, DATA = b":done", b":data:"
_POPPED = re.compile(rb"(.+)\|(\d{1,15})", re.DOTALL)


def parse_element(element: bytes) -> tuple[bytes, int | None]:
    """Return the id of a list element and when it was popped, None if it was not."""
    found = _POPPED.fullmatch(element)
    return (element, None) if found is None else (found[1], int(found[2]))


class RedisQueueReader:
    """Reader of the keys <queue>, <queue>:done and <queue>:data:<id>."""

    def __init__(self, source: ImportSource) -> None:
        self.left_out = LeftOut()
        self._source = source
        self._server = source.server
        self._prefix = (source.prefix or "").encode()
        self._kinds = self._server.kinds(self._server.keys(prefix=self._prefix))
        self._queues = self._find_queues()

    def _find_queues(self) -> dict[str, bytes]:
        names: list[bytes] = []
        for key in (key for key, kind in self._kinds.items() if kind == "list"):
            name = key.removeprefix(self._prefix)
            if name.decode(errors="replace") in self._source.queues or self._is_queue(key):
                names.append(name)
            else:
                self.left_out.add("this list may not be a queue; import it with --queue", key)
        names += [
            key.removeprefix(self._prefix).removesuffix(DONE)
            for key, kind in self._kinds.items()
            if kind == "set" and key.endswith(DONE) and key != DONE
        ]
        given = queue_names(self._source, names)
        if not given:
            raise nothing_found(self._source, "list with a set <list>:done or entries <id>|<time>")
        check_all_found(self._source, list(given))
        return {
            name: self._prefix + each for name, each in given.items() if self._source.wants(name)
        }

    def _is_queue(self, key: bytes) -> bool:
        """Return whether a list has a set of done ids, or popped ids at its left end."""
        if self._kinds.get(key + DONE) == "set":
            return True
        page = next(in_pages(self._server.newest_first(key)), [])
        return any(parse_element(element)[1] is not None for element in page)

    def setups(self) -> Iterator[Setup]:
        """Yield the queues."""
        for name in self._queues:
            yield FoundQueue(name, "ring")

    def entries(self) -> Iterator[Entry]:
        """Yield the jobs of every queue, the popped ones first."""
        for name, key in self._queues.items():
            yield from self._queue_jobs(name, key)

    def _queue_jobs(self, queue: str, key: bytes) -> Iterator[FoundJob]:
        done = set(self._server.members(key + DONE))
        popped: dict[bytes, int] = {}
        waiting: dict[bytes, None] = {}
        seen: set[bytes] = set()
        for element in self._server.oldest_first(key):
            tid, popped_at = parse_element(element)
            seen.add(tid)
            if popped_at is None:
                if tid in waiting:
                    self.left_out.add(f"twice in {queue!r}; imported as one job", tid)
                waiting[tid] = None
            elif tid in done:
                self.left_out.add(f"done in {queue!r}", tid)
            else:
                popped[tid] = popped_at
        for tid in done - seen:
            self.left_out.add(f"marked as done in {queue!r}, but not in the queue", tid)
        for tid in popped.keys() & waiting.keys():
            self.left_out.add(f"twice in {queue!r}; imported as one job", tid)
            del waiting[tid]
        by_time = sorted(popped, key=lambda tid: (popped[tid], tid))
        yield from self._jobs(queue, key, "running", by_time)
        yield from self._jobs(queue, key, "waiting", list(waiting))

    def _jobs(self, queue: str, key: bytes, state: str, ids: list[bytes]) -> Iterator[FoundJob]:
        for page in in_pages(ids):
            messages = self._server.strings([key + DATA + tid for tid in page])
            for tid, message in zip(page, messages, strict=True):
                import_id = import_id_of(queue, tid)
                yield FoundJob(
                    state,
                    ImportedJob(
                        id=job_id(tid, import_id),
                        import_id=import_id,
                        queue=queue,
                        state="waiting",
                        data=tid if message is None else message,
                        origin=self._source.origin(queue, tid),
                        attempt=int(state == "running"),
                    ),
                )
