"""Planted faults in the scripts of a put by a producer."""

from __future__ import annotations

from tests.model.harness import Fault

FAULTS = [
    Fault("a producer may cancel", "ops/cancel", "-- flags", "-- role   producer\n-- flags"),
    Fault("a producer hands over", "lib/plain_put", " and may_change_jobs()\n", "\n"),
    Fault("no put hands over a job", "lib/plain_put", "and may_change_jobs()\n", "and false\n"),
    Fault(
        "a producer does housekeeping after a short path",
        "lib/write_back",
        "if not adds_only then\n    run_agenda",
        "if true then\n    run_agenda",
    ),
    Fault("a producer does housekeeping", "lib/write_back", " and not adds_only then\n", " then\n"),
    Fault(
        "the put of a producer is not restricted", "ops/put", "if not may_change_jobs()", "if false"
    ),
    Fault("the put of a worker is restricted", "ops/put", "if not may_change_jobs()", "if true"),
    Fault(
        "a producer moves jobs", "lib/put_rules", "and 'reject' or policy", "and policy or policy"
    ),
    Fault(
        "a producer cannot put with on_exists=duplicate",
        "lib/put_rules",
        " and policy ~= 'duplicate'",
        "",
    ),
    Fault(
        "a producer may depend on existing jobs",
        "lib/put_rules",
        "if adds_only and not",
        "if false and not",
    ),
    Fault(
        "a producer cannot depend on jobs of the same call",
        "lib/put_rules",
        "not changed_jobs[parent]",
        "parent",
    ),
    Fault(
        "the put of a producer replaces a record",
        "lib/job_records",
        "adds_only and 'MSETNX' or ",
        "",
    ),
    Fault(
        "the put of a producer replaces a payload",
        "lib/job_records",
        "adds_only and 'SETNX' or ",
        "",
    ),
]
