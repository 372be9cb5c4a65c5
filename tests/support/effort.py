"""How much is tried: HEADRACE_LONG=1 tries twenty times as much where chance decides what."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

EFFORT = 20 if os.environ.get("HEADRACE_LONG") else 1
_ONE_IN = 40


def sampled(faults: Sequence[Any]) -> list[Any]:
    """Planted faults, which try the tests and not the code: most of them only in the long run."""
    return [
        pytest.param(fault, marks=() if place % _ONE_IN == 0 else pytest.mark.long, id=str(fault))
        for place, fault in enumerate(faults)
    ]
