"""Which jobs a worker process has begun, written where its supervisor can read it.

When the process dies, its jobs were lost, and each loss costs a retry: what kills workers must come
to an end. But what had not even begun cannot have been it. So it is given back without cost.
"""

from __future__ import annotations

import mmap

from headrace.worker.prefetch import MOST

SLOT = 256


class Begun:
    """A table of ids in memory that a process shares with those it forks."""

    def __init__(self, concurrency: int) -> None:
        # Those that run, and those whose ends are not said yet.
        self._count = concurrency + 3 * MOST
        self._memory = mmap.mmap(-1, self._count * SLOT)
        self._free = list(range(self._count))
        self._slots: dict[str, int] = {}

    def add(self, job_id: str) -> None:
        """It begins. Threads do this too, so every step is one of a list or a dict."""
        name = job_id.encode()
        if self._free and len(name) < SLOT:
            slot = self._slots[job_id] = self._free.pop()
            at = slot * SLOT
            self._memory[at + 1 : at + 1 + len(name)] = name
            self._memory[at] = len(name)

    def remove(self, job_id: str) -> None:
        """It is over, and that was said; or it is no longer ours."""
        slot = self._slots.pop(job_id, None)
        if slot is not None:
            self._memory[slot * SLOT] = 0
            self._free.append(slot)

    def ids(self) -> set[str]:
        """All that are written here, by whichever process."""
        found = set()
        for at in range(0, self._count * SLOT, SLOT):
            if length := self._memory[at]:
                found.add(self._memory[at + 1 : at + 1 + length].decode())
        return found

    def close(self) -> None:
        self._memory.close()
