"""The names of all keys and channels, without the prefix that each shard puts before them.

Python code uses these names, and `lua_keys` generates the constants of lib/core/keys.lua from these
names. docs/reference/keys.md describes what each key holds and when the key is deleted.
"""

from __future__ import annotations


class KeyFamily(str):
    """The prefix of keys that exist once per name. Calling a family with a name returns a key."""

    __slots__ = ()

    def __call__(self, name: str) -> str:
        """Return the key for a name. The name is everything after the first colon of the key."""
        return f"{self}:{name}"


# Keys that exist once per shard.
AGENDA = "agenda"  # Sorted set: housekeeping tasks by due time.
ANSWERS = "answers"  # Hash: remembered answers.
CLOCK = "clock"  # String: the time that a test has set.
CONFIG = "config"  # Hash: settings of the namespace.
EVENTS = "events"  # Stream: the event log.
FAILURE_TYPES = "failure_types"  # Sorted set: failure types by their number of jobs.
FEEDS = "feeds"  # Sorted set: names of feeds in the order of creation.
LAKES = "lakes"  # Hash: maps each lake to the last entry it has copied.
LIBRARIES = "libraries"  # Hash: maps an unused library to when a sweep first found it unused.
LOG = "log"  # Hash: counters of the event log.
META = "meta"  # Hash: layout, number of shards, creation time.
OLDER_ANSWERS = "older_answers"  # Hash: remembered answers that are deleted next.
QUEUES = "queues"  # Sorted set: names of queues in the order of first use.
SESSIONS = "sessions"  # Sorted set: workers by the end of their session.
STREAMS = "streams"  # Sorted set: streams that this shard coordinates.
TAGS = "tags"  # Sorted set: tags by their number of jobs.
THROTTLES = "throttles"  # Sorted set: names of throttles by the time when the throttles end.
TRACKED = "tracked"  # Sorted set: ids of tracked jobs.
TRANSACTIONS = "transactions"  # Sorted set: open transactions by the time of the next check.
TURN = "turn"  # String: who does the housekeeping now, and until when.
WORKERS = "workers"  # Sorted set: workers of the qless API by the time of their newest call.
WRITES = "writes"  # Sorted set: writes that this shard coordinates.

# Keys of a job, by its id.
job = KeyFamily("job")  # String: the packed record of the job.
data = KeyFamily("data")  # String: a payload of more than 1024 bytes.
result = KeyFamily("result")  # String: the result of the job.
notes = KeyFamily("notes")  # Hash: the progress, the progress note, and the newest failure.
log = KeyFamily("log")  # List: the newest log lines.

# Keys of dependencies, by job id or group.
depends = KeyFamily("depends")  # Sorted set: unfinished dependencies of a blocked job.
dependents = KeyFamily("dependents")  # Sorted set <policy>:<id>: dependents of a job.
unlocking = KeyFamily("unlocking")  # Sorted set <ending>:<policy>:<id>: dependents to process.
group = KeyFamily("group")  # Sorted set: unfinished and failed members of a group.

# Keys of a queue, by its name.
settings = KeyFamily("settings")  # Hash: settings of the queue.
books = KeyFamily("books")  # Hash: job counters of the queue.
unique = KeyFamily("unique")  # Hash: maps each unique value to the job that holds it.
ingress = KeyFamily("ingress")  # List: elements pushed by other programs.
waiting = KeyFamily("waiting")  # Sorted set: waiting jobs by priority.
scheduled = KeyFamily("scheduled")  # Sorted set: scheduled jobs by due time.
blocked = KeyFamily("blocked")  # Sorted set: blocked jobs by the time when they were blocked.
running = KeyFamily("running")  # Sorted set: running jobs by the end of their lease.
failed = KeyFamily("failed")  # Sorted set: failed jobs by the time of failure.
complete = KeyFamily("complete")  # Sorted set: complete jobs by the time of completion.
schedules = KeyFamily("schedules")  # Sorted set: schedules by the time of their next run.
results = KeyFamily("results")  # Sorted set: jobs that are kept only for their result.
days = KeyFamily("days")  # Sorted set: days that have statistics.
stats = KeyFamily("stats")  # Hash <day>:<queue>: statistics of a day.
histogram = KeyFamily("histogram")  # Hash <day>:<queue>: histograms of a day.

# Keys of a feed, by its name.
feed = KeyFamily("feed")  # Hash: settings and counters of the feed.
items = KeyFamily("items")  # Hash: items by id.
order = KeyFamily("order")  # Sorted set: ids of items by position.

# Keys of limits, by queue, gate or throttle; \0 is a zero byte.
lane = KeyFamily("lane")  # Sorted set <queue>\0<lane>: waiting jobs of a lane.
lanes = KeyFamily("lanes")  # Hash: state of each lane that has jobs.
turns = KeyFamily("turns")  # Sorted set: eligible lanes by priority.
parked = KeyFamily("parked")  # Sorted set <queue>\0<gate>: lanes parked at a gate.
stops = KeyFamily("stops")  # Sorted set: queues with lanes parked at a throttle.
gated = KeyFamily("gated")  # Sorted set: gates with parked lanes, by the time of the next check.
gate = KeyFamily("gate")  # Sorted set: jobs that run behind a gate.
rates = KeyFamily("rates")  # Sorted set: used rates by the time when they are available again.
throttle = KeyFamily("throttle")  # Hash: limits of a throttle.

# Keys of failure types, tags and workers.
failures = KeyFamily("failures")  # Sorted set: failed jobs of a failure type.
tag = KeyFamily("tag")  # Sorted set: jobs that have a tag.
session = KeyFamily("session")  # Hash: token, TTL, start time, host and process of a session.
serves = KeyFamily("serves")  # Sorted set: queues that a worker serves.
held = KeyFamily("held")  # Sorted set: leases of a worker.

# Keys for Spark writes, imports and schedules.
staged = KeyFamily("staged")  # List: chunks of a staged attempt.
attempts = KeyFamily("attempts")  # Sorted set: staged attempts of a transaction.
transaction = KeyFamily("transaction")  # Hash: state of a transaction.
write = KeyFamily("write")  # Hash: entry of the commit log.
imported = KeyFamily("imported")  # Hash: maps each import id to an id in Headrace.
schedule = KeyFamily("schedule")  # Hash: rule, data and options of a schedule.

# Channels. `ended`, `tracked` and `changes` also have a channel with an empty name.
queue_channel = KeyFamily("queue")  # Notices to workers that wait for jobs.
worker_channel = KeyFamily("worker")  # Notices to one worker.
ended_channel = KeyFamily("ended")  # Ids of finished jobs.
tracked_channel = KeyFamily("tracked")  # Events of tracked jobs.
changes_channel = KeyFamily("changes")  # Changes of feeds.
done_channel = KeyFamily("done")  # Finished tasks of the worqr API.

# Only tests read the key CLOCK: tests replace lib/core/now.lua with a clock that tests can set.
_NOT_IN_LUA = {"CLOCK"}


def constants() -> dict[str, str]:
    """Return the keys that exist once per shard, as a dict from constant names to keys."""
    return {name: value for name, value in globals().items() if name.isupper() and name[0] != "_"}


def families() -> dict[str, KeyFamily]:
    """Return a dict that maps each variable name to its key family or channel."""
    return {name: value for name, value in globals().items() if isinstance(value, KeyFamily)}


def in_state(state: str, queue: str) -> str:
    """Return the key of the sorted set that lists a queue's jobs in this state."""
    return f"{state}:{queue}"


def lua_keys() -> dict[str, str]:
    """Return the keys that every Lua file can use, as a dict from Lua variable names to keys."""
    once = {name: key for name, key in constants().items() if name not in _NOT_IN_LUA}
    return {"job_prefix": job(""), **once}
