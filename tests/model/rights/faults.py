"""Planted faults in the scripts of a put by a producer."""

from __future__ import annotations

from tests.model.harness import Fault

FAULTS = [
    Fault("a producer may cancel", "ops/cancel", "-- flags", "-- role   producer\n-- flags"),
    Fault("a producer hands over", "lib/plain_put", " and may_change_jobs()\n", "\n"),
    Fault("nobody hands over", "lib/plain_put", "and may_change_jobs()\n", "and false\n"),
    Fault(
        "a producer does housekeeping after a short path",
        "lib/write_back",
        "if not adds_only then\n    run_agenda",
        "if true then\n    run_agenda",
    ),
    Fault("a producer does housekeeping", "lib/write_back", " and not adds_only then\n", " then\n"),
    Fault("all may change jobs", "ops/put", "if not may_change_jobs()", "if false"),
    Fault("nobody may change jobs", "ops/put", "if not may_change_jobs()", "if true"),
    Fault(
        "a producer moves jobs", "lib/put_rules", "and 'reject' or policy", "and policy or policy"
    ),
    Fault("a producer does not duplicate", "lib/put_rules", " and policy ~= 'duplicate'", ""),
    Fault("a producer links jobs", "lib/put_rules", "if adds_only and not", "if false and not"),
    Fault("a producer links no jobs", "lib/put_rules", "not changed_jobs[parent]", "parent"),
    Fault("records are replaced", "lib/job_records", "adds_only and 'MSETNX' or ", ""),
    Fault("payloads are replaced", "lib/job_records", "adds_only and 'SETNX' or ", ""),
]
