"""Repeated calls have one effect, and the checks catch every planted fault."""

from __future__ import annotations

from tests.model.harness import planted
from tests.model.repeats.checks import CHECKS
from tests.model.repeats.faults import FAULTS

test_scripts_without_a_fault_pass, test_planted_fault_is_caught = planted(
    FAULTS, CHECKS, also_raised=(OverflowError,)
)
