"""A producer adds jobs and changes none, and the checks catch every planted fault."""

from __future__ import annotations

from tests.model.harness import planted
from tests.model.jobs.checks.single_put import single_puts_equal_a_bulk_put
from tests.model.rights.checks import (
    commands_of_a_producer_cannot_change_jobs,
    existing_jobs_stay_unchanged,
    housekeeping_is_left_to_workers,
    offers_are_left_to_workers,
    puts_of_a_producer_have_the_usual_effect,
)
from tests.model.rights.faults import FAULTS

WALKS = [
    puts_of_a_producer_have_the_usual_effect,
    existing_jobs_stay_unchanged,
    housekeeping_is_left_to_workers,
    offers_are_left_to_workers,
]
CHECKS = [commands_of_a_producer_cannot_change_jobs, single_puts_equal_a_bulk_put]

test_scripts_without_a_fault_pass, test_planted_fault_is_caught = planted(FAULTS, WALKS, CHECKS)
