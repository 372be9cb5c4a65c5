"""Descriptions of states, events, settings and profiles for the generated pages."""

from __future__ import annotations

ABOUT_STATES = """\
A job is in one of these states. `queue.counts()` returns how many jobs of a queue are in each."""

GONE = """\
A job that was cancelled or expired, or whose retention ended, is gone."""

REFUSED = """\
An operation that is not allowed in the job's state changes nothing. A call for one job raises an
error that gives the reason; a call for several returns the error in its list of results. Only
`cancel` ignores jobs that are unknown or complete."""

ABOUT_EVENTS = """\
Every change of a job or a feed is one entry in the event log of its shard. The script that makes
the change writes the entry in the same atomic step. This page describes version {version} of the
fields. `client.events()` reads the log; with `follow=True` it waits for new events. The
[guarantees](guarantees.md#events) state how long events are kept."""

ABOUT_STREAM = """\
Three fields have shorter names in the stream itself: `job_id` is `id`, `next_queue` is `next`, and
`from_queue` is `from`. The stream has a field `at` only if the time differs from that of the entry
id, which happens after the server's clock was set back."""

ABOUT_SETTINGS = """\
`queue.configure(lease=30)` changes a setting of one queue. `client.config.set("lease", 30)` changes
the default for all queues without a value of their own, and `client.config.unset("lease")` restores
the built-in default. Durations are seconds or a `timedelta`. Settings are stored on the server and
apply to every client from the next call on."""

ABOUT_PROFILES = """\
A profile is a named set of settings: `queue.configure("task")`. It replaces all earlier settings of
the queue except `paused`. The same call can override single settings, and so can a later one."""

ABOUT_REFERENCE = """\
Import the names on this page from `headrace`, and those under Testing from `headrace.testing`. A
`Span` is a duration: a number of seconds or a `timedelta`. An `Answer` is the new state of a job,
or the error that explains why the call did not apply. Every call raises `InvalidArgument` for bad
input before it sends anything, and `ServerUnavailable` if the server does not answer within
`retry_for`."""

ABOUT_OPTIONS = """\
Keyword arguments of `put` and `put_many` (`JobOptions`), of `schedule` and
`client.schedules.update` (`ScheduleOptions`), and of tasks and apps (`TaskOptions`). See
[tasks](../guides/tasks.md)."""

ABOUT_OUTCOMES = """\
A task raises `Snooze`, `Retry` or `Discard` to set the outcome of its job. `Backoff` is the waiting
time between attempts."""

ABOUT_CODECS = """\
Built-in codecs are selected by name: `json` (the default), `msgpack`, and `raw` (bytes, unchanged).
Any object with `encode` and `decode` works too. `Encrypted(keys, codec="json", *, current=None)`
encrypts the output of another codec. See [codecs](../guides/codecs.md)."""

STATES = {
    "waiting": "ready to be popped, by priority and then in order of arrival",
    "scheduled": "delayed; it becomes waiting when its delay ends",
    "blocked": "waits until other jobs, or a group, have finished",
    "running": "a worker holds its lease",
    "failed": "failed permanently, with an error type and a message; kept until it is retried, "
    "put again or cancelled",
    "complete": "finished; kept with its history until its retention ends",
}

KINDS = {
    "put": "the job was created, put again or requeued. `reason` is ingress for an element pushed "
    "on an ingress list and imported for an import. If the job existed before, `was` and "
    "`from_queue` give its earlier state and queue",
    "due": "the delay ended; the job is waiting",
    "blocked": "the job got dependencies and waits for them",
    "unlocked": "all dependencies have finished; the job is waiting, or scheduled if it has a "
    "`delay` left",
    "popped": "a worker got the job; `wait` is how long it waited",
    "completed": "the job completed, or moved on to `next_queue`; `run` is how long it ran. With "
    "the `reason` imported it had completed in another system",
    "failed": "the job failed permanently; `reason` is worker, operator, dependency failed, "
    "dependency gone, the reason of the last lost lease, or imported if it had failed in another "
    "system",
    "retried": "the attempt failed; the job is tried again after `delay`",
    "released": "the job was given back without using a retry; `reason` is worker, operator or "
    "unserved",
    "lost": "the server reclaimed the lease; `reason` is lease expired, session ended, session "
    "closed or operator. The first two use a retry",
    "updated": "the worker replaced the payload and keeps the lease",
    "unfailed": "an operator retried a failed job",
    "prioritised": "the priority changed to `priority`",
    "tagged": "tags were added or removed; `tags` is the new list",
    "cancelled": "the job was deleted; `reason` is operator, matching, queue deleted, cascade, "
    "dependency failed or dependency gone",
    "expired": "the job was not started in time",
    "published": "an item was added to the feed, at `place`",
    "edited": "an item was replaced; `place` is its new position if that changed",
    "retracted": "an item was removed, or evicted as the oldest of a full feed",
    "positioned": "an item of a sorted feed was moved to `place`",
    "feed_made": "a feed was created",
    "feed_configured": "the settings of a feed were replaced",
    "feed_deleted": "a feed was deleted with all its items",
}

FIELDS = {
    "shard": "the shard of this log",
    "number": "the sequence number of the event in its shard: starts at 1, has no gaps",
    "at": "the time by the server's clock, with millisecond precision",
    "version": "the version of these fields",
    "kind": "the kind of change, see below",
    "job_id": "the id of the job, or of the feed item",
    "queue": "the queue or feed; for a move, the destination queue",
    "attempt": "the number of deliveries so far",
    "worker": "the worker that holds the job or held it until now; empty if there is none",
    "priority": "the priority of the job",
    "wait": "milliseconds from when the job could be popped until it was",
    "run": "milliseconds from the pop until this event",
    "data": "the payload, on put, published and edited and whenever it changed, unless it is "
    "larger than `event_data`",
    "tags": "the tags as a JSON list, on put, if there are any",
    "delay": "milliseconds until the job becomes waiting",
    "failure": "the error type",
    "message": "the error message, truncated to 1,024 bytes",
    "reason": "the reason, see below",
    "next_queue": "the queue that the job moved on to",
    "from_queue": "the queue of the job before it was put again",
    "was": "the state of the job before it was put again or cancelled; `replaced` if it kept its "
    "position",
    "left_out": "the size in bytes of a payload that is not in the event; 0 for an empty payload",
    "schedule": "the schedule that created the job, on put",
    "change": "the sequence number of the change in its feed: starts at 1, has no gaps",
    "place": "the position of an item: `newest`, `first`, or `after` and the id of another item",
    "instance": "the client instance that created, configured or deleted the feed",
    "origin": "the historical job that this job repeats, on put by a replay",
    "entry_id": "the id of the stream entry, `<milliseconds>-<number>`",
}

PROFILES = {
    "job": "the default: leases, sessions, retries, history, statistics",
    "fifo": "a plain queue: pop removes the job (at most once)",
    "task": "for workers with sessions: a worker keeps its job while its session lives. A finished "
    "job leaves no record, and its payload is not in the event log",
    "manual": "no lease: a worker keeps its job until a call finishes it by id",
    "ring": "redelivers each job every 30 seconds until a call finishes it by id",
}
