"""The states of a job and the transitions between the states; see docs/reference/states.md."""

from __future__ import annotations

STATES = ("waiting", "scheduled", "blocked", "running", "failed", "complete")

MOVES: tuple[tuple[str, str, str], ...] = (
    ("", "waiting", "put, or a run of a schedule"),
    ("", "scheduled", "put with a delay"),
    ("", "blocked", "put with depends_on, or as the callback of a group"),
    ("scheduled", "waiting", "due"),
    ("waiting", "blocked", "depend"),
    ("scheduled", "blocked", "depend"),
    ("blocked", "waiting", "all dependencies finished, or undepend"),
    ("blocked", "scheduled", "all dependencies finished, or undepend, before the delay ends"),
    ("waiting", "running", "pop"),
    ("running", "running", "pop, after the lease expired"),
    ("running", "complete", "complete, finish"),
    (
        "running",
        "waiting",
        "release, fail with retry_in=0, timeout, session end, complete with next",
    ),
    ("running", "scheduled", "release, fail with retry_in or complete with next, and a delay"),
    ("running", "blocked", "complete with next and depends_on"),
    ("running", "failed", "fail, or a lost lease with no retries left"),
    ("waiting", "failed", "fail by an operator"),
    ("scheduled", "failed", "fail by an operator"),
    ("blocked", "failed", "fail by an operator, or a dependency failed or is gone"),
    ("failed", "failed", "fail by an operator"),
    ("failed", "waiting", "retry"),
    ("failed", "scheduled", "retry with a delay"),
    ("any state", "waiting", "put of the same id, requeue"),
    ("any state", "scheduled", "put of the same id or requeue, with a delay"),
    ("any state", "blocked", "put of the same id, with depends_on"),
    ("waiting", "gone", "cancel, not started in time, or pop with the setting removes"),
    ("scheduled", "gone", "cancel, not started in time"),
    ("blocked", "gone", "cancel, not started in time, or a dependency failed or is gone"),
    ("running", "gone", "cancel, or complete in a queue without retention"),
    ("failed", "gone", "cancel"),
    ("complete", "gone", "retention, or its queue was deleted"),
)
