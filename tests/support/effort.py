"""The number of random examples: HEADRACE_LONG=1 runs twenty times as many."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

EFFORT = 20 if os.environ.get("HEADRACE_LONG") else 1
_ONE_IN = 40


def examples(count: int, **more: Any) -> settings:
    """Return Hypothesis settings for this many examples, without a deadline."""
    return settings(
        max_examples=count * EFFORT,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
        **more,
    )


def sampled(faults: Sequence[Any]) -> list[Any]:
    """Return test parameters for planted faults, of which make test runs one in forty.

    Planted faults test the tests, not the code, so the others run only with the long tests.
    """
    return [
        pytest.param(fault, marks=() if number % _ONE_IN == 0 else pytest.mark.long, id=str(fault))
        for number, fault in enumerate(faults)
    ]
