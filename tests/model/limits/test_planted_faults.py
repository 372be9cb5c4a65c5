"""Random walks through limits match the model and catch every planted fault."""

from __future__ import annotations

from tests.model.harness import planted
from tests.model.limits.checks import CHECKS
from tests.model.limits.faults import FAULTS
from tests.model.limits.walks import walk

# The scripts without a fault take only four walks, because the state machine takes many more.
test_scripts_without_a_fault_pass, _ = planted(FAULTS, [], [*map(walk, range(4)), *CHECKS])
_, test_planted_fault_is_caught = planted(FAULTS, [], [*CHECKS, *map(walk, range(40))])
