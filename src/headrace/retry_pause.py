"""The pause between the retries of an operation that keeps failing.

Internal: the API may change without notice.
"""

from __future__ import annotations


class RetryPause:
    """A pause that doubles with every failure, up to `longest` seconds.

    >>> pause = RetryPause(first=0.5, longest=3.0)
    >>> [pause.next_pause() for _ in range(4)]
    [0.5, 1.0, 2.0, 3.0]
    >>> pause.reset()
    >>> pause.next_pause()
    0.5
    """

    __slots__ = ("_first", "_longest", "_next")

    def __init__(self, first: float, longest: float) -> None:
        self._first = self._next = first
        self._longest = longest

    def next_pause(self) -> float:
        """Return how many seconds to wait before the next attempt."""
        pause, self._next = self._next, min(2 * self._next, self._longest)
        return pause

    def reset(self) -> None:
        """Start again with the first pause. Call this method after a success."""
        self._next = self._first
