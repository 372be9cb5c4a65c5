"""The states of a job and the transitions between them; docs/reference/states.md lists them."""

from __future__ import annotations

STATES = ("waiting", "scheduled", "blocked", "running", "failed", "complete")

MOVES: tuple[tuple[str, str, str], ...] = (
    ("", "waiting", "put, or the turn of a schedule"),
    ("", "scheduled", "put with a delay"),
    ("", "blocked", "put with depends_on, or after a group"),
    ("scheduled", "waiting", "due"),
    ("waiting", "blocked", "depend"),
    ("scheduled", "blocked", "depend"),
    ("blocked", "waiting", "what it depends on is over, undepend"),
    ("blocked", "scheduled", "the same, before its delay is over"),
    ("waiting", "running", "pop"),
    ("running", "running", "pop, after the lease ran out"),
    ("running", "complete", "complete, finish"),
    (
        "running",
        "waiting",
        "release, fail with retry_in=0, timeout, session end, complete with next",
    ),
    ("running", "scheduled", "release, fail with retry_in or complete with next, and a delay"),
    ("running", "blocked", "complete with next and depends_on"),
    ("running", "failed", "fail, or lost with no retries left"),
    ("waiting", "failed", "fail by an operator"),
    ("scheduled", "failed", "fail by an operator"),
    ("blocked", "failed", "fail by an operator, or what it depends on failed or is gone"),
    ("failed", "failed", "fail by an operator"),
    ("failed", "waiting", "retry"),
    ("failed", "scheduled", "retry with a delay"),
    ("any state", "waiting", "put of the same id, requeue"),
    ("any state", "scheduled", "put of the same id or requeue, with a delay"),
    ("any state", "blocked", "put of the same id, with depends_on"),
    ("waiting", "gone", "cancel, not started in time, or pop where the queue removes"),
    ("scheduled", "gone", "cancel, not started in time"),
    ("blocked", "gone", "cancel, not started in time, or what it depends on failed or is gone"),
    ("running", "gone", "cancel, or complete where the queue keeps nothing"),
    ("failed", "gone", "cancel"),
    ("complete", "gone", "retention, or its queue is deleted"),
)
