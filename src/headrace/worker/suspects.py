"""Jobs that were lost again and again: one of them may be what kills its workers.

A job is lost when its worker dies, with all that ran beside it, and each loss costs a retry. So
that one poisonous job does not use up the retries of its neighbours, what was lost twice in a row
runs alone.
"""

from __future__ import annotations

from collections import deque

from headrace.operations.popping import Popped

LOST_IN_A_ROW = 2
OUTCOME = 5


def is_suspect(popped: Popped) -> bool:
    """Whether the last deliveries that came to something ended with the death of their workers."""
    history = popped.record.history
    if popped.record.attempt <= LOST_IN_A_ROW or not isinstance(history, list):
        return False
    outcomes = [stage[OUTCOME] for stage in history if stage[OUTCOME] != "released"]
    return outcomes[-LOST_IN_A_ROW:] == ["lost"] * LOST_IN_A_ROW


class Suspects:
    """The suspects a worker holds. While there are any, nothing else is begun or asked for."""

    def __init__(self) -> None:
        self._waiting: deque[Popped] = deque()
        self._alone: Popped | None = None
        self.careful = False

    def __bool__(self) -> bool:
        return self._alone is not None or bool(self._waiting)

    def add(self, popped: Popped) -> bool:
        """Keeps one; False says that it is to be given back, since another waits already."""
        self.careful = True
        if self:
            return False
        self._waiting.append(popped)
        return True

    def begin(self) -> Popped | None:
        """The one that may run now, alone."""
        if self._alone is not None or not self._waiting:
            return None
        self._alone = self._waiting.popleft()
        return self._alone

    def forget(self, popped: Popped) -> None:
        """It is over, or was taken away."""
        if self._alone is popped:
            self._alone = None
        elif popped in self._waiting:
            self._waiting.remove(popped)

    def give_up(self) -> list[Popped]:
        """Those that have not begun, to be given back."""
        found, self._waiting = list(self._waiting), deque()
        return found
