"""Protection of other jobs against poison jobs, which kill the worker process that runs them.

When a worker process dies, the server reclaims its jobs, and each reclaim costs a retry, so that a
poison job runs out of retries. Two measures keep this from harming innocent jobs:

- A process records which jobs it has started where its supervisor can read it. Jobs that had not
  started cannot be the cause and are released without costing a retry.
- A job that was reclaimed twice in a row is a suspect and runs alone.
"""

from __future__ import annotations

import mmap
from collections import deque

from headrace.operations.popping import Popped
from headrace.worker.sources import MOST_PREFETCHED

SLOT_BYTES = 256
RECLAIMS_IN_A_ROW = 2
# The position of the outcome in a stage of a job's history.
OUTCOME = 5


class StartedJobs:
    """The ids of started jobs, in memory that a process shares with the processes it forks."""

    def __init__(self, concurrency: int) -> None:
        # Room for the running jobs and for those whose outcome the server does not know yet.
        self._count = concurrency + 3 * MOST_PREFETCHED
        self._memory = mmap.mmap(-1, self._count * SLOT_BYTES)
        self._free = list(range(self._count))
        self._slots: dict[str, int] = {}

    def add(self, job_id: str) -> None:
        """Record that a job starts.

        Threads call this too, so every step is a single operation on a list or a dict.
        """
        name = job_id.encode()
        if self._free and len(name) < SLOT_BYTES:
            slot = self._slots[job_id] = self._free.pop()
            at = slot * SLOT_BYTES
            self._memory[at + 1 : at + 1 + len(name)] = name
            self._memory[at] = len(name)

    def remove(self, job_id: str) -> None:
        """Forget a job: the server knows its outcome, or the lease was lost."""
        slot = self._slots.pop(job_id, None)
        if slot is not None:
            self._memory[slot * SLOT_BYTES] = 0
            self._free.append(slot)

    def ids(self) -> set[str]:
        """Return the ids that any process recorded here."""
        found = set()
        for at in range(0, self._count * SLOT_BYTES, SLOT_BYTES):
            if length := self._memory[at]:
                found.add(self._memory[at + 1 : at + 1 + length].decode())
        return found

    def close(self) -> None:
        """Free the memory."""
        self._memory.close()


def is_suspect(popped: Popped) -> bool:
    """Return whether the last two attempts of a job ended with the death of their workers.

    Attempts that were released do not count.
    """
    history = popped.record.history
    if popped.record.attempt <= RECLAIMS_IN_A_ROW or not isinstance(history, list):
        return False
    outcomes = [stage[OUTCOME] for stage in history if stage[OUTCOME] != "released"]
    return outcomes[-RECLAIMS_IN_A_ROW:] == ["lost"] * RECLAIMS_IN_A_ROW


class SuspectJobs:
    """The suspects that a worker holds. While it holds any, it starts and pops nothing else."""

    def __init__(self) -> None:
        self._waiting: deque[Popped] = deque()
        self._running: Popped | None = None
        # Whether the last popped job was a suspect: the next one may be a suspect too.
        self.careful = False

    def __bool__(self) -> bool:
        return self._running is not None or bool(self._waiting)

    def add(self, popped: Popped) -> bool:
        """Keep a suspect; return False if it must be released because another one waits or runs."""
        self.careful = True
        if self:
            return False
        self._waiting.append(popped)
        return True

    def start(self) -> Popped | None:
        """Return the suspect that may run now, alone."""
        if self._running is not None or not self._waiting:
            return None
        self._running = self._waiting.popleft()
        return self._running

    def forget(self, popped: Popped) -> None:
        """Forget a job that finished or whose lease was lost."""
        if self._running is popped:
            self._running = None
        elif popped in self._waiting:
            self._waiting.remove(popped)

    def take_waiting(self) -> list[Popped]:
        """Remove and return the suspects that have not started."""
        found, self._waiting = list(self._waiting), deque()
        return found
