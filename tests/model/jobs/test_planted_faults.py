"""The job scripts do what the model does, and the checks catch every planted fault."""

from __future__ import annotations

from tests.model.corruptions import audit_reports_corruption
from tests.model.harness import planted
from tests.model.jobs.checks.bulk_failures import bulk_is_exact
from tests.model.jobs.checks.due_notices import what_comes_is_told
from tests.model.jobs.checks.event_counts import log_tells_what_is_counted
from tests.model.jobs.checks.failure_texts import errors_are_kept
from tests.model.jobs.checks.hand_over import handing_over
from tests.model.jobs.checks.imported_jobs import what_comes_from_elsewhere
from tests.model.jobs.checks.job_pages import jobs_are_walked_through
from tests.model.jobs.checks.log_trimming import marks_are_of_the_log, trimming_by_proof
from tests.model.jobs.checks.matching import matching_in_steps
from tests.model.jobs.checks.put_one import one_at_a_time
from tests.model.jobs.faults import FAULTS
from tests.model.jobs.tag_faults import TIES
from tests.model.jobs.tag_walks import TAG_WALKS
from tests.model.jobs.tour import walk
from tests.model.jobs.walks import WALKS

# These cover what the walks do not reach.
CHECKS = [
    matching_in_steps,
    errors_are_kept,
    bulk_is_exact,
    jobs_are_walked_through,
    what_comes_is_told,
    handing_over,
    one_at_a_time,
    trimming_by_proof,
    marks_are_of_the_log,
    log_tells_what_is_counted,
    what_comes_from_elsewhere,
    audit_reports_corruption,
]

walks = [*map(walk, WALKS)]
tag_walks = [*map(walk, TAG_WALKS)]

test_scripts_without_a_fault_pass, test_planted_fault_is_caught = planted(
    FAULTS, [*walks, *tag_walks], CHECKS
)
_, test_planted_fault_in_tags_is_caught = planted(TIES, tag_walks, CHECKS)
