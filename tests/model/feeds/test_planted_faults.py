"""The scripts of feeds do what the models do, and the walks catch every planted fault."""

from __future__ import annotations

from tests.model.feeds.faults import FAULTS
from tests.model.feeds.walks import WALKS, walk
from tests.model.harness import planted

# Feeds have no short path, so the walks run only once, as checks.
test_scripts_without_a_fault_pass, test_planted_fault_is_caught = planted(
    FAULTS, [], [*map(walk, WALKS)], also_raised=(ValueError,)
)
