"""Random drivers match the model of writes and catch every planted fault."""

from __future__ import annotations

from tests.model.harness import planted
from tests.model.writes.checks import scripts_of_writes_work
from tests.model.writes.faults import WRITE_FAULTS
from tests.model.writes.walks import walk

test_scripts_without_a_fault_pass, test_planted_fault_is_caught = planted(
    WRITE_FAULTS, [], [scripts_of_writes_work, *map(walk, range(80))], also_raised=(KeyError,)
)
