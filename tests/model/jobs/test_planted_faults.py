"""The job scripts do what the model does, and the checks catch every planted fault."""

from __future__ import annotations

from tests.model.corruptions import audit_reports_corruption
from tests.model.harness import planted
from tests.model.jobs.checks.bounded_work import work_is_done_in_parts
from tests.model.jobs.checks.bulk_failures import bulk_changes_only_matching_jobs
from tests.model.jobs.checks.due_notices import earlier_due_time_is_published
from tests.model.jobs.checks.event_counts import statistics_follow_from_events
from tests.model.jobs.checks.event_payloads import large_payloads_are_left_out
from tests.model.jobs.checks.expired_jobs import expired_jobs_are_deleted
from tests.model.jobs.checks.failure_texts import failures_are_shortened
from tests.model.jobs.checks.hand_over import hand_over_equals_put_and_pop
from tests.model.jobs.checks.imported_jobs import imports_are_unchanged
from tests.model.jobs.checks.job_pages import pages_have_every_job
from tests.model.jobs.checks.log_trimming import log_is_trimmed_by_marks, marks_belong_to_the_log
from tests.model.jobs.checks.matching import matching_works_in_steps
from tests.model.jobs.checks.single_put import single_puts_equal_a_bulk_put
from tests.model.jobs.faults import FAULTS
from tests.model.jobs.tag_faults import TAG_FAULTS
from tests.model.jobs.tag_walks import TAG_WALKS
from tests.model.jobs.tour import walk
from tests.model.jobs.walks import WALKS

# Checks of cases that the walks do not reach.
CHECKS = [
    matching_works_in_steps,
    failures_are_shortened,
    bulk_changes_only_matching_jobs,
    large_payloads_are_left_out,
    pages_have_every_job,
    earlier_due_time_is_published,
    hand_over_equals_put_and_pop,
    single_puts_equal_a_bulk_put,
    log_is_trimmed_by_marks,
    marks_belong_to_the_log,
    statistics_follow_from_events,
    imports_are_unchanged,
    audit_reports_corruption,
    work_is_done_in_parts,
    expired_jobs_are_deleted,
]

walks = [*map(walk, WALKS)]
tag_walks = [*map(walk, TAG_WALKS)]

test_scripts_without_a_fault_pass, test_planted_fault_is_caught = planted(
    FAULTS, [*walks, *tag_walks], CHECKS
)
_, test_planted_fault_in_tags_is_caught = planted(TAG_FAULTS, tag_walks, CHECKS)
