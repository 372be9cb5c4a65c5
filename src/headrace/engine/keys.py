"""The names of all keys and channels of a shard, without the prefix of the shard.

Python readers use these names, and `lua_keys` generates the constants of lib/core/keys.lua from
them. docs/reference/keys.md says what each key holds and when it is deleted.
"""

from __future__ import annotations


class KeyFamily(str):
    """The role of the keys that exist once per name; call it with the name to get a key."""

    __slots__ = ()

    def __call__(self, name: str) -> str:
        """Return the key of a name, which is the whole rest of the key."""
        return f"{self}:{name}"


# Keys that a shard has once.
AGENDA = "agenda"  # zset: housekeeping tasks by due time
CLOCK = "clock"  # string: the time that a test has set
CONFIG = "config"  # hash: settings of the namespace
EVENTS = "events"  # stream: the event log
FAILURE_TYPES = "failure_types"  # zset: failure types by their number of jobs
FEEDS = "feeds"  # zset: names of feeds by creation
LAKES = "lakes"  # hash: the newest archived entry of each lake
LOG = "log"  # hash: counters of the event log
META = "meta"  # hash: layout, number of shards, creation time
QUEUES = "queues"  # zset: names of queues by first use
SESSIONS = "sessions"  # zset: workers by the end of their session
STREAMS = "streams"  # zset: streams that this shard coordinates
TAGS = "tags"  # zset: tags by their number of jobs
THROTTLES = "throttles"  # zset: names of throttles by their end
TRACKED = "tracked"  # zset: ids of tracked jobs
TRANSACTIONS = "transactions"  # zset: open transactions by the time of the next check
WRITES = "writes"  # zset: writes that this shard coordinates

# Keys of a job, by its id.
job = KeyFamily("job")  # string: the packed record
data = KeyFamily("data")  # string: a payload of more than 1024 bytes
result = KeyFamily("result")  # string: the result
notes = KeyFamily("notes")  # hash: progress, note and the newest failure
log = KeyFamily("log")  # list: the newest log lines

# Keys of dependencies, by job id or group.
depends = KeyFamily("depends")  # zset: unfinished dependencies of a blocked job
dependents = KeyFamily("dependents")  # zset: <policy>:<id>, the dependents of a job
unlocking = KeyFamily("unlocking")  # zset: <ending>:<policy>:<id>, dependents to process
group = KeyFamily("group")  # zset: unfinished and failed members

# Keys of a queue, by its name.
settings = KeyFamily("settings")  # hash: settings of the queue
books = KeyFamily("books")  # hash: counts of jobs
unique = KeyFamily("unique")  # hash: unique values and the jobs that hold them
ingress = KeyFamily("ingress")  # list: elements pushed by other programs
waiting = KeyFamily("waiting")  # zset: waiting jobs by priority
scheduled = KeyFamily("scheduled")  # zset: scheduled jobs by due time
blocked = KeyFamily("blocked")  # zset: blocked jobs by the time when they were blocked
running = KeyFamily("running")  # zset: running jobs by the end of their lease
failed = KeyFamily("failed")  # zset: failed jobs by the time of failure
complete = KeyFamily("complete")  # zset: complete jobs by the time of completion
schedules = KeyFamily("schedules")  # zset: schedules by the time of their next run
results = KeyFamily("results")  # zset: jobs that are kept for their result
days = KeyFamily("days")  # zset: days that have statistics
stats = KeyFamily("stats")  # hash: <day>:<queue>, statistics of a day
histogram = KeyFamily("histogram")  # hash: <day>:<queue>, histograms of a day

# Keys of a feed, by its name.
feed = KeyFamily("feed")  # hash: settings and counters
items = KeyFamily("items")  # hash: items by id
order = KeyFamily("order")  # zset: ids by place

# Keys of limits, by queue, gate or throttle; \0 is a zero byte.
lane = KeyFamily("lane")  # zset: <queue>\0<lane>, waiting jobs of a lane
lanes = KeyFamily("lanes")  # hash: lanes that have jobs
turns = KeyFamily("turns")  # zset: eligible lanes by priority
parked = KeyFamily("parked")  # zset: <queue>\0<gate>, lanes parked at a gate
stops = KeyFamily("stops")  # zset: queues with lanes parked at a throttle
gated = KeyFamily("gated")  # zset: gates with parked lanes, by the time of the next check
gate = KeyFamily("gate")  # zset: jobs that run behind a gate
rates = KeyFamily("rates")  # zset: used rates by the time when they are free again
throttle = KeyFamily("throttle")  # hash: limits of a throttle

# Keys of failure types, tags and workers.
failures = KeyFamily("failures")  # zset: jobs that failed with a type
tag = KeyFamily("tag")  # zset: jobs that have a tag
session = KeyFamily("session")  # hash: token, TTL and place of a worker
serves = KeyFamily("serves")  # zset: queues that a worker serves
held = KeyFamily("held")  # zset: leases of a worker

# Keys of writes from Spark, of imports and of schedules.
staged = KeyFamily("staged")  # list: chunks of a staged attempt
attempts = KeyFamily("attempts")  # zset: staged attempts of a transaction
transaction = KeyFamily("transaction")  # hash: state of a transaction
write = KeyFamily("write")  # hash: entry of the commit log
imported = KeyFamily("imported")  # hash: import ids
schedule = KeyFamily("schedule")  # hash: rule, data and options of a schedule

# Channels. `ended`, `tracked` and `changes` also have a channel with an empty name.
queue_channel = KeyFamily("queue")  # notices to workers that wait for jobs
worker_channel = KeyFamily("worker")  # notices to one worker
ended_channel = KeyFamily("ended")  # ids of finished jobs
tracked_channel = KeyFamily("tracked")  # events of tracked jobs
changes_channel = KeyFamily("changes")  # changes of feeds
done_channel = KeyFamily("done")  # finished tasks of the worqr API

# Tests replace lib/core/now.lua by a text that reads this key; no other script does.
_NOT_IN_LUA = {"CLOCK"}


def constants() -> dict[str, str]:
    """Return the keys that a shard has once, by the name of their constant."""
    return {name: value for name, value in globals().items() if name.isupper() and name[0] != "_"}


def families() -> dict[str, KeyFamily]:
    """Return the key families and channels, by the name of their variable."""
    return {name: value for name, value in globals().items() if isinstance(value, KeyFamily)}


def in_state(state: str, queue: str) -> str:
    """Return the key of the jobs of a queue that are in this state."""
    return f"{state}:{queue}"


def lua_keys() -> str:
    """Generate the Lua constants that follow the functions of lib/core/keys.lua."""
    named = [("job_prefix", job(""))]
    named += [(name, key) for name, key in constants().items() if name not in _NOT_IN_LUA]
    return "".join(f"local {name} = shard .. '{key}'\n" for name, key in named)
