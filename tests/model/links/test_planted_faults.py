"""The scripts of dependencies do what the model does, and the checks catch every planted fault."""

from __future__ import annotations

from functools import partial

from tests.model.corruptions import audit_reports_corruption
from tests.model.harness import planted
from tests.model.links.faults import FAULTS
from tests.model.links.walks import CHECKS, WALKS, walk

walks = [*map(walk, WALKS)]
slow_walks = [*map(partial(walk, slow=True), WALKS)]

test_scripts_without_a_fault_pass, test_planted_fault_is_caught = planted(
    FAULTS, walks, [*CHECKS, *slow_walks, audit_reports_corruption]
)
