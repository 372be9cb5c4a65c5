"""What the generated documents say of names that the code only lists."""

from __future__ import annotations

REFUSED = """\
An operation that does not apply to the state of a job changes nothing and says why: with an error,
or in the list of answers. Only `cancel` passes over what is unknown or complete."""

ABOUT_EVENTS = """\
Everything that happens to a job or a feed is one entry in the log of its shard, written by the same
script that did it. The fields have version {version}. `client.events()` reads the log, and with
`follow=True` waits for more; the [guarantees](guarantees.md) say how long it is kept."""

ABOUT_STREAM = """\
In the stream itself `job_id` is called `id`, `next_queue` `next` and `from_queue` `from`. The time
stands in `at` only where it differs from that of the entry id: after the clock was set back."""

ABOUT_SETTINGS = """\
`queue.configure(lease=30)` sets a setting of one queue. `client.config.set("lease", 30)` sets the
default of all queues that do not say otherwise, and `client.config.unset("lease")` takes it back.
Spans are seconds or a `timedelta`. Settings live on the server and hold from the next call on, for
everybody."""

ABOUT_PROFILES = """\
A profile is a named set of settings: `queue.configure("task")`. It replaces all earlier settings of
the queue but `paused`; settings can be given with it, and changed later."""

ABOUT_REFERENCE = """\
What stands under Connecting, Values and Errors can be imported from `headrace`. A `Span` is seconds
as a number, or a `timedelta`. An `Answer` is the new state of a job, or the error that says why
not. Every call raises `InvalidArgument` for bad input, before anything is sent, and
`ServerUnavailable` when the server does not answer within `retry_for`."""

ABOUT_CODECS = """\
By name: `json` (the default), `msgpack`, `raw` (bytes as they are); or any object with `encode` and
`decode`. `Encrypted(keys, codec="json", *, current=None)` encrypts what another codec writes.
[Codecs](codecs.md) says more."""

STATES = {
    "waiting": "it can be popped now; by priority, then in the order of arrival",
    "scheduled": "it starts to wait when its delay is over",
    "blocked": "it waits for other jobs, or for a group, to be over",
    "running": "a worker has it, under a lease",
    "failed": "set aside with a type and a message, until it is retried, put again or cancelled",
    "complete": "over; kept for a while with its history",
}

KINDS = {
    "put": "it was made (`reason` is ingress if by a push from outside, imported if by an import); "
    "or it was put again or requeued, then `was` and `from_queue` say more",
    "due": "its delay is over, it waits",
    "blocked": "it was given dependencies, and waits for them",
    "unlocked": "what it depended on is over: it waits, or is scheduled if `delay` is left",
    "popped": "a worker got it; `wait` ends",
    "completed": "it ended well, or moved on to `next_queue`; `run` ends, unless `reason` is "
    "imported: it had ended elsewhere",
    "failed": "it was set aside; `reason` is worker, operator, dependency failed, "
    "dependency gone, why the last lease was lost, or imported: it had failed elsewhere",
    "retried": "the attempt failed and the job is tried again after `delay`",
    "released": "it was given back unharmed; `reason` is worker, operator or unserved",
    "lost": "the lease was taken back; `reason` is lease expired, session ended, session closed or "
    "operator; the first two cost a retry",
    "updated": "its worker replaced its payload and goes on with it",
    "unfailed": "a failed job is tried again, by an operator",
    "prioritised": "`priority` is the new one",
    "tagged": "it got tags or lost some; `tags` are those it has now",
    "cancelled": "it was deleted; `reason` is operator, matching, queue deleted, cascade, "
    "dependency failed or dependency gone",
    "expired": "it was not started in time",
    "published": "a new item of the feed; `place` says where it stands",
    "edited": "an item was replaced; `place` says where it stands now, if that has changed",
    "retracted": "an item was taken away, or was the oldest of too many",
    "positioned": "an item of a sorted feed was moved; `place` says where it stands now",
    "feed_made": "a feed was made",
    "feed_configured": "what is set of a feed was replaced",
    "feed_deleted": "a feed was deleted with all its items",
}

FIELDS = {
    "shard": "the shard whose log this is",
    "number": "the number of the event in its shard, from 1 on, without holes",
    "at": "when, by the server's clock, to the millisecond",
    "version": "the version of these fields",
    "kind": "what happened, see below",
    "job_id": "the job, or the item of a feed",
    "queue": "its queue or feed; for a move, the queue it came into",
    "attempt": "how often it had been handed out",
    "worker": "who holds it, or held it until now; empty if nobody",
    "priority": "its priority",
    "wait": "milliseconds from when it could be popped until it was",
    "run": "milliseconds from the pop until now",
    "data": "its payload, on put, published and edited, and wherever it has changed, if "
    "`event_data` allows its size",
    "tags": "its tags as a JSON list, on put, if it has any",
    "delay": "milliseconds until it starts to wait",
    "failure": "the type of the failure",
    "message": "its message, cut after 1,024 bytes",
    "reason": "why, see below",
    "next_queue": "the queue it moved on to",
    "from_queue": "the queue it was in before it was put again",
    "was": "its state before it was put again or cancelled; `replaced` if it kept its place",
    "left_out": "the size of a payload that is not in the event, in bytes; 0 is one that is empty",
    "schedule": "the schedule that made it, on put",
    "change": "the number of the change in its feed, from 1 on, without holes",
    "place": "where an item stands now: `newest`, `first`, or `after` and the id of another one",
    "instance": "the instance of the client that made, configured or deleted the feed",
    "origin": "the job of the past that it repeats, on put by a replay",
    "entry_id": "the id of the entry in the stream, `<milliseconds>-<number>`",
}

PROFILES = {
    "job": "the default: leases, sessions, retries, history, statistics",
    "fifo": "a plain queue: pop takes the job away for good",
    "task": "for workers with sessions: a job stays with its worker while the session lives, "
    "and of one that is over nothing is kept, not even its payload in the log",
    "manual": "a job stays with its worker until somebody says what became of it, by id",
    "ring": "a job comes round again every 30 seconds until it is finished, by id",
}
