"""How a blocking client waits for an answer: awake or asleep, whichever is quicker here and now.

To fall asleep and be woken takes about as long as a server on the same machine takes to answer.
Where a core is to spare it pays to stay awake for that long; where all are busy, or the server is
far, it does not. Nobody can know which, so both are tried now and then, and timed.

Who asks seldom sleeps: the core is better left to the worker that is woken for the job. So do
threads that are not alone, as others may have better to do than to make way for one that waits.
"""

from __future__ import annotations

import math
import select
import threading
from itertools import cycle
from statistics import fmean
from time import perf_counter

# To be woken takes about as many seconds: nobody stays awake for longer.
AWAKE = 0.0001
# So many calls one way, so many the other, twice; then so many in the way that was quicker.
TRIAL, STANDS = 16, 1000
# Who asks less often than this asks seldom.
SELDOM = 0.001
# What is not clearly quicker is not worth the processor.
WORTH = 0.85
# An answer that takes longer says nothing about either way.
LONGEST_MS = 1

TRIALS = ((True, TRIAL), (False, TRIAL)) * 2


class SpinWait:
    """Waits for one connection."""

    __slots__ = ("_asked_at", "_awake", "_left", "_phases", "_poll", "_taken")

    @classmethod
    def on(cls, fileno: int) -> SpinWait | None:
        """One for this connection; none where the system, or what replaces it, cannot poll."""
        return cls(fileno) if hasattr(select, "poll") else None

    def __init__(self, fileno: int) -> None:
        self._poll = select.poll()
        self._poll.register(fileno, select.POLLIN)
        self._phases = cycle((*TRIALS, (None, STANDS)))
        self._asked_at = -math.inf
        self._awake = False
        self._left = 0
        self._taken: dict[bool, list[float]] | None = None

    def wait(self, asked_at: float) -> None:
        """Returns when there is an answer, or when it is time to sleep until there is one."""
        since_last, self._asked_at = asked_at - self._asked_at, asked_at
        if since_last > SELDOM or threading.active_count() > 1:
            return
        if not self._left:
            self._begin_next()
        self._left -= 1
        if self._taken is not None:
            self._try(asked_at, self._taken[self._awake])
        elif self._awake:
            self._stay_awake()

    def _begin_next(self) -> None:
        awake, self._left = next(self._phases)
        if awake is not None:
            self._awake = awake
            self._taken = self._taken or {True: [], False: []}
        elif self._taken is not None:
            self._awake = fmean(self._taken[True]) < WORTH * fmean(self._taken[False])
            self._taken = None

    def _try(self, asked_at: float, taken: list[float]) -> None:
        if not self._awake or not self._stay_awake():
            self._poll.poll(LONGEST_MS)
        taken.append(min(perf_counter() - asked_at, LONGEST_MS / 1000))

    def _stay_awake(self) -> bool:
        """Whether there is an answer."""
        poll = self._poll.poll
        until = perf_counter() + AWAKE
        while not poll(0):
            if perf_counter() > until:
                return False
        return True
