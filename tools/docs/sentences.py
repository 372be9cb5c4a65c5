"""Descriptions of states, events, settings and profiles for the generated pages."""

from __future__ import annotations

ABOUT_STATES = """\
A job is in one of these states. `queue.counts()` returns the number of jobs of a queue in each
state."""

GONE = """\
The server deletes a job when the job is cancelled or expires, or when the job's retention ends. The
table below calls a deleted job `gone`."""

REFUSED = """\
An operation that is not allowed in the job's state changes nothing. A call for one job raises an
error that gives the reason. A call for several jobs returns the errors in its list of results. Only
`cancel` ignores jobs that are unknown or complete."""

ABOUT_EVENTS = """\
Every change of a job or a feed is one entry in the event log of the shard that holds the job or
feed. The script that makes the change writes the entry in the same atomic step. This page describes
version {version} of the fields. `client.events()` reads the log, and `client.events(follow=True)`
also waits for new events. The [guarantees](guarantees.md#events) state how long events are kept."""

ABOUT_STREAM = """\
Three fields have shorter names in the Redis stream: `job_id` is `id`, `next_queue` is `next`, and
`from_queue` is `from`. A stream entry has a field `at` only if the time of the event differs
from the time in the entry id. The two times differ if the server's clock was set back."""

ABOUT_SETTINGS = """\
`queue.configure(lease=30)` changes a setting of one queue. `client.config.set("lease", 30)` changes
the default for all queues that do not have their own value. `client.config.unset("lease")` restores
the built-in default. A duration is a number of seconds or a `timedelta`. The server stores the
settings, so a change applies to the next call of every client."""

ABOUT_PROFILES = """\
A profile is a named set of settings. `queue.configure("task")` replaces all earlier settings of the
queue, except `paused`, with those of the profile `task`. The same call or a later call can override
single settings."""

ABOUT_REFERENCE = """\
Import the names on this page from `headrace`, and the names under Testing from `headrace.testing`.
A `Span` is a duration: a number of seconds or a `timedelta`. An `Answer` is the new state of a job,
or the error that explains why the call did not change the job. Every call raises `InvalidArgument`
for invalid input before the client sends anything. A call raises `ServerUnavailable` if the server
does not answer within `retry_for` seconds."""

ABOUT_MODULES = """\
These modules are public: {modules}. All other modules are internal and may change without
notice."""

ABOUT_OPTIONS = """\
These options are keyword arguments of `put` and `put_many` (`JobOptions`), of `schedule` and
`client.schedules.update` (`ScheduleOptions`), and of tasks and apps (`TaskOptions`). A function
that passes its options on can declare them as `**options: Unpack[headrace.JobOptions]`. See
[tasks](../guides/tasks.md)."""

ABOUT_OUTCOMES = """\
A task raises `Snooze`, `Retry` or `Discard` to set the outcome of its job. A `Backoff` computes
the waiting time between attempts."""

ABOUT_CODECS = """\
Built-in codecs are selected by name: `json` (the default), `msgpack`, and `raw` (bytes, unchanged).
Any object with the methods `encode` and `decode` is also a codec.
`Encrypted(keys, codec="json", *, current=None, check="queue", unbound=True)` encrypts the output
of another codec. See [codecs](../guides/codecs.md)."""

STATES = {
    "waiting": "ready to be popped, by priority and then in order of arrival",
    "scheduled": "delayed; the job becomes waiting when its delay ends",
    "blocked": "waits until other jobs, or a group, have finished",
    "running": "a worker holds the lease of the job",
    "failed": "failed permanently, with an error type and a message; the server keeps the job "
    "until it is retried, put again or cancelled",
    "complete": "finished; the server keeps the job and its history until its retention ends",
}

KINDS = {
    "put": "the job was created, put again or requeued. `reason` is `ingress` for a job from an "
    "ingress list, and `imported` for an imported job. If the job existed before, `was` and "
    "`from_queue` are its earlier state and queue",
    "due": "the delay ended; the job is waiting",
    "blocked": "the job got dependencies and waits until they have finished",
    "unlocked": "all dependencies have finished; the job is waiting, or scheduled if it has a "
    "`delay` left",
    "popped": "a worker got the job; `wait` is the time that the job waited",
    "completed": "the job completed, or moved on to `next_queue`; `run` is the time that the job "
    "ran. If `reason` is `imported`, the job had completed in another system before the import",
    "failed": "the job failed permanently. `reason` is `worker`, `operator`, `dependency failed`, "
    "`dependency gone` or the reason why the last lease was lost. If `reason` is `imported`, the "
    "job had failed in another system before the import",
    "retried": "the attempt failed; the job becomes waiting again after `delay`",
    "released": "the job returned to its queue and did not lose a retry; `reason` is `worker`, "
    "`operator` or `unserved`",
    "lost": "the server reclaimed the job from its worker. `reason` is `lease expired`, `session "
    "ended`, `session closed`, `server outage` or `operator`. Only `lease expired` and `session "
    "ended` cost a retry",
    "updated": "the worker replaced the payload and keeps the lease",
    "unfailed": "an operator retried a failed job",
    "prioritised": "the priority changed to `priority`",
    "tagged": "tags were added or removed; `tags` is the new list",
    "cancelled": "the job was deleted; `reason` is `operator`, `matching`, `queue deleted`, "
    "`cascade`, `dependency failed` or `dependency gone`",
    "expired": "the job was deleted because no worker started it in time",
    "published": "an item was added to the feed, at `place`",
    "edited": "an item was replaced; `place` is the new position if the position changed",
    "retracted": "an item was removed, or evicted because it was the oldest item of a full feed",
    "positioned": "an item of a sorted feed was moved to `place`",
    "feed_made": "a feed was created",
    "feed_configured": "the settings of a feed were replaced",
    "feed_deleted": "a feed was deleted with all its items",
    "tracked": "`actor` started tracking the job",
    "untracked": "`actor` stopped tracking the job, which may be deleted",
    "configured": "`actor` changed `settings` of the queue, or of the namespace if `queue` is "
    "empty. Every shard has this event",
}

FIELDS = {
    "shard": "the shard whose log contains the event",
    "number": "the sequence number of the event in its shard, from 1 without gaps",
    "at": "the time by the server's clock, with millisecond precision",
    "version": "the version of these fields",
    "kind": "the kind of change; the table of kinds lists all kinds",
    "job_id": "the id of the job, or of the feed item",
    "queue": "the queue of the job, or the feed of the item; for a job that moved, the destination "
    "queue",
    "attempt": "the number of deliveries so far",
    "worker": "the worker that holds the job, or held the job until this event; empty if there is "
    "no such worker",
    "priority": "the priority of the job",
    "wait": "milliseconds from the time at which the job became available until the pop",
    "run": "milliseconds from the pop until this event",
    "data": "the payload, in `put`, `published` and `edited` events and in every event that "
    "changes the payload, unless the payload is larger than `event_data`",
    "tags": "the tags as a JSON list, in `put` events of jobs with tags and in `tagged` events",
    "delay": "milliseconds until the job becomes waiting",
    "failure": "the error type",
    "message": "the error message, truncated to 1,024 bytes",
    "reason": "the reason for the change; the table of kinds lists the values",
    "next_queue": "the queue that the job moved on to",
    "from_queue": "the queue of the job before it was put again",
    "was": "the state of the job before it was put again or cancelled; `replaced` if the put did "
    "not change the job's position",
    "left_out": "the size in bytes of a payload that is not in the event; 0 for an empty payload",
    "schedule": "the schedule that created the job, in `put` events",
    "change": "the sequence number of the change in its feed, from 1 without gaps",
    "place": "the position of an item: `newest`, `first`, or `after` and the id of another item",
    "instance": "the client instance that created, configured or deleted the feed",
    "origin": "the id of the historical job from which a replay created this job, in `put` events",
    "actor": "the client that tracked the job or changed the settings: the argument `actor` of "
    "`connect`",
    "settings": "the changed settings as a JSON object of stored values; null means that the "
    "default applies again",
    "entry_id": "the id of the stream entry, `<milliseconds>-<number>`",
}

PROFILES = {
    "job": "the default, with leases, sessions, retries, history and statistics",
    "fifo": "a plain queue: pop removes the job, so each job is delivered at most once",
    "task": "for workers with sessions: a worker keeps its job as long as its session is alive. A "
    "finished job leaves no record, and its payload is not in the event log",
    "manual": "no lease: a worker keeps its job until a call finishes the job by id",
    "ring": "the server redelivers each job every 30 seconds until a call finishes the job by id",
}
