"""Spin briefly for a reply instead of sleeping, if measurements show that spinning is faster.

Putting a thread to sleep and waking it takes about as long as a local server takes to answer. If a
core is idle, spinning for that time is faster. On a busy machine or with a distant server, sleeping
is better. Each connection regularly times spinning and sleeping, and uses the faster way.

Spinning is disabled in three cases: the process has other threads, the connection makes less than
one call per millisecond, or the environment variable HEADRACE_SPIN_WAIT is "0".
"""

from __future__ import annotations

import math
import os
import select
import threading
from itertools import cycle
from statistics import fmean
from time import perf_counter

# The longest time to spin, in seconds: about the time that waking a thread takes.
SPIN_FOR = 0.0001
# The number of calls in a trial, and the number of calls between trials. Calls between trials spin
# or sleep, whichever was faster in the last trials.
TRIAL_CALLS, CALLS_BETWEEN_TRIALS = 16, 1000
# After a pause of more than this many seconds between two calls, the connection counts as idle.
IDLE_AFTER = 0.001
# Spin only if a call that spins takes at most this share of the time of a call that sleeps.
WORTHWHILE = 0.85
# A trial measures the time until the reply arrives, up to this many milliseconds. If the reply
# takes longer, the trial records this limit.
LONGEST_MS = 1

TRIALS = ((True, TRIAL_CALLS), (False, TRIAL_CALLS)) * 2


class SpinWait:
    """Waits for the replies of one connection."""

    __slots__ = ("_called_at", "_calls_left", "_phases", "_poll", "_spins", "_times")

    @classmethod
    def on(cls, fileno: int) -> SpinWait | None:
        """Return a SpinWait for a socket, or None if spinning is disabled or poll is missing."""
        if os.environ.get("HEADRACE_SPIN_WAIT") == "0" or not hasattr(select, "poll"):
            return None
        return cls(fileno)

    def __init__(self, fileno: int) -> None:
        self._poll = select.poll()
        self._poll.register(fileno, select.POLLIN)
        self._phases = cycle((*TRIALS, (None, CALLS_BETWEEN_TRIALS)))
        self._called_at = -math.inf
        self._spins = False
        self._calls_left = 0
        self._times: dict[bool, list[float]] | None = None

    def wait(self, called_at: float) -> None:
        """Return when the reply has arrived, or earlier if the caller should sleep instead."""
        since_last, self._called_at = called_at - self._called_at, called_at
        if since_last > IDLE_AFTER or threading.active_count() > 1:
            return
        if not self._calls_left:
            self._begin_phase()
        self._calls_left -= 1
        if self._spins or self._times is not None:
            self._spin(called_at)

    def _begin_phase(self) -> None:
        spins, self._calls_left = next(self._phases)
        if spins is not None:
            self._spins = spins
            self._times = self._times or {True: [], False: []}
        elif self._times is not None:
            self._spins = fmean(self._times[True]) < WORTHWHILE * fmean(self._times[False])
            self._times = None

    def _spin(self, called_at: float) -> None:
        poll = self._poll.poll
        until = perf_counter() + SPIN_FOR
        while self._spins and not poll(0) and perf_counter() < until:
            pass
        if self._times is not None:
            poll(LONGEST_MS)
            self._times[self._spins].append(min(perf_counter() - called_at, LONGEST_MS / 1000))
