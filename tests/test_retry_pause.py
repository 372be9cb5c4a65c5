"""Pauses between retries."""

from __future__ import annotations

import doctest

from headrace import retry_pause
from headrace.retry_pause import RetryPause


def test_examples_of_the_module_run() -> None:
    assert doctest.testmod(retry_pause).failed == 0


def test_pause_doubles_up_to_the_longest_and_starts_again_after_reset() -> None:
    pause = RetryPause(first=0.2, longest=1.0)

    assert [pause.next_pause() for _ in range(5)] == [0.2, 0.4, 0.8, 1.0, 1.0]
    pause.reset()
    assert pause.next_pause() == 0.2
