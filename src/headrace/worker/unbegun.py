"""Which jobs a worker process holds and has not begun, written where its supervisor can read it.

When the process dies, its jobs were lost, and each loss costs a retry: what kills workers must come
to an end. But what had not even begun cannot have been it. So it is given back without cost.
"""

from __future__ import annotations

import mmap

from headrace.worker.prefetch import MOST

SLOT = 256


class Unbegun:
    """A table of ids in memory that a process shares with those it forks."""

    def __init__(self, concurrency: int) -> None:
        self._count = concurrency + MOST
        self._memory = mmap.mmap(-1, self._count * SLOT)
        self._free = list(range(self._count))
        self._slots: dict[str, int] = {}

    def add(self, job_id: str) -> None:
        """It is held. What has no room here is lost like any other."""
        name = job_id.encode()
        if self._free and len(name) < SLOT:
            slot = self._slots[job_id] = self._free.pop()
            at = slot * SLOT
            self._memory[at + 1 : at + 1 + len(name)] = name
            self._memory[at] = len(name)

    def remove(self, job_id: str) -> None:
        """It is begun, or no longer held."""
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
