"""Random walks through limits match the model and catch every planted fault."""

from __future__ import annotations

from tests.model.harness import planted
from tests.model.limits.checks import CHECKS
from tests.model.limits.faults import FAULTS
from tests.model.limits.walks import walk

# Without a fault the first four walks are enough, because the state machine does the same.
test_scripts_without_a_fault_pass, _ = planted(FAULTS, [], [*map(walk, range(4)), *CHECKS])
_, test_planted_fault_is_caught = planted(FAULTS, [], [*CHECKS, *map(walk, range(40))])
