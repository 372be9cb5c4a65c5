"""Protect other jobs against poison jobs. A poison job kills the worker process that runs it.

When a worker process dies, the server reclaims the jobs of the process. Each reclaim costs a retry,
so a poison job runs out of retries. Two measures protect the other jobs of the process:

- A process records its started jobs in memory that the supervisor can read. Jobs that had not
  started cannot have killed the process. The supervisor releases the jobs that had not started, and
  a release costs no retry.
- A job that was reclaimed twice in a row is a suspect and runs alone.
"""

from __future__ import annotations

import mmap

from headrace.operations.popping import Popped
from headrace.worker.sources import MOST_PREFETCHED

SLOT_BYTES = 256
RECLAIMS_IN_A_ROW = 2
# Each stage in the history of a job is a list. This is the index of the outcome in that list.
OUTCOME = 5


class StartedJobs:
    """The ids of started jobs, in memory that a process shares with its forked processes."""

    def __init__(self, concurrency: int) -> None:
        # There is room for the running jobs and for the jobs with an unsent outcome.
        self._count = concurrency + 3 * MOST_PREFETCHED
        self._memory = mmap.mmap(-1, self._count * SLOT_BYTES)
        self._free = list(range(self._count))
        self._slots: dict[str, int] = {}

    def add(self, job_id: str) -> None:
        """Record that a job starts.

        Several threads may call this method at the same time. No lock is needed, because every step
        is a single operation on a list or a dict.
        """
        name = job_id.encode()
        if self._free and len(name) < SLOT_BYTES:
            slot = self._slots[job_id] = self._free.pop()
            at = slot * SLOT_BYTES
            self._memory[at + 1 : at + 1 + len(name)] = name
            self._memory[at] = len(name)

    def remove(self, job_id: str) -> None:
        """Remove a job when the server has the job's outcome or when the job's lease is lost."""
        slot = self._slots.pop(job_id, None)
        if slot is not None:
            self._memory[slot * SLOT_BYTES] = 0
            self._free.append(slot)

    def ids(self) -> set[str]:
        """Return the ids that any process has recorded in this shared memory block."""
        found = set()
        for at in range(0, self._count * SLOT_BYTES, SLOT_BYTES):
            if length := self._memory[at]:
                found.add(self._memory[at + 1 : at + 1 + length].decode())
        return found

    def close(self) -> None:
        """Free the memory."""
        self._memory.close()


def is_suspect(popped: Popped) -> bool:
    """Return whether the last two attempts of a job each ended with the death of the worker.

    Released attempts do not count.
    """
    history = popped.record.history
    if popped.record.attempt <= RECLAIMS_IN_A_ROW or not isinstance(history, list):
        return False
    outcomes = [stage[OUTCOME] for stage in history if stage[OUTCOME] != "released"]
    return outcomes[-RECLAIMS_IN_A_ROW:] == ["lost"] * RECLAIMS_IN_A_ROW


class SuspectJobs:
    """Holds at most one suspect.

    While a suspect is held, the worker pops no other job and runs the suspect alone.
    """

    def __init__(self) -> None:
        self._held: Popped | None = None
        self._is_running = False
        # True if the last popped job was a suspect. The worker then pops one job at a time, because
        # the next job may be a suspect too.
        self.careful = False

    def __bool__(self) -> bool:
        return self._held is not None

    def add(self, popped: Popped) -> bool:
        """Hold a suspect; return False if another suspect is already held."""
        self.careful = True
        if self._held is not None:
            return False
        self._held = popped
        return True

    def start(self) -> Popped | None:
        """Mark the waiting suspect as running and return it; return None if no suspect waits."""
        if self._is_running or self._held is None:
            return None
        self._is_running = True
        return self._held

    def forget(self, popped: Popped) -> None:
        """Stop holding a job that has finished or whose lease was lost."""
        if self._held is popped:
            self._held, self._is_running = None, False

    def waiting(self) -> Popped | None:
        """Return the held suspect if it has not started, otherwise None."""
        return None if self._is_running else self._held
