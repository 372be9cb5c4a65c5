"""Tracked jobs: the server publishes each event of a tracked job at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.engine import keys
from headrace.engine.call import build, each_state
from headrace.engine.check import Span
from headrace.engine.events import VERSION, Event, read_published_event
from headrace.engine.timestamps import moment
from headrace.operations.channel_listener import ListeningState, seconds, subscribe
from headrace.operations.core import Core
from headrace.operations.finishing import sole
from headrace.operations.jobs import checked_rows, jobs
from headrace.operations.paging import all_items, first_names
from headrace.operations.protocols import ClientLike
from headrace.operations.requests import ask_one, raw
from headrace.operations.values import Tracked
from headrace.transport.drive import Operation

MOST_TRACKED = 10_000


def track(client: ClientLike, job_id: str) -> Operation[str]:
    """Track a job and return its state; `tracking.listen` receives the later events of the job.

    Raises JobNotFound if there is no such job, and TooMany if 10,000 jobs are tracked on the job's
    shard.

        client.tracking.add("order-7")
    """
    core = client.core
    rows = checked_rows(core, [job_id])
    call = build("track", each_state([job_id]), rows, most=MOST_TRACKED, actor=core.actor)
    return sole((yield from ask_one(core, core.shard_of(job_id), call)))


def untrack(client: ClientLike, job_id: str) -> Operation[None]:
    """Stop tracking a job, even a deleted job; unknown ids are ignored.

    Raises InvalidArgument if the id is malformed.
    """
    core = client.core
    rows = checked_rows(core, [job_id])
    yield from ask_one(core, core.shard_of(job_id), build("untrack", int, rows, actor=core.actor))


def tracked(client: ClientLike) -> Operation[Tracked]:
    """Return the tracked jobs, and the ids of tracked jobs that were deleted.

    Both lists begin with the job that was tracked first.

    Raises ServerUnavailable if the server does not answer.
    """
    ids = yield from all_items(first_names, client.core, keys.TRACKED)
    # If a tracked job is deleted and a new job is put with its id, the new job is not tracked.
    found = [job for job in (yield from jobs(client, ids)) if job.tracked]
    there = {job.id for job in found}
    return Tracked(found, [job_id for job_id in ids if job_id not in there])


def listen_tracked(
    client: ClientLike, *, wait: Span | None = None
) -> Operation[ListeningState[Event]]:
    """Subscribe to the events of tracked jobs; see Tracking.listen."""
    core = client.core
    channels = [core.channel(shard, keys.tracked_channel, "") for shard in range(core.shards)]
    shards = {name: shard for shard, name in channels}
    newest: dict[int, int] = {}

    def read(channel: str, message: bytes) -> Iterable[Event]:
        event = read_published_event(shards[channel], message)
        newest[event.shard] = max(event.number, newest.get(event.shard, 0))
        return [event]

    state = ListeningState(core, channels, read, _missed(core, newest), seconds(wait))
    return (yield from subscribe(state))


def _missed(core: Core, newest: dict[int, int]) -> Callable[[], Operation[Iterable[Event]]]:
    """Return a function that reports the shards whose log has events that were not received."""

    def check() -> Operation[Iterable[Event]]:
        logs = [core.key(shard, keys.LOG) for shard in range(core.shards)]
        words = [("HMGET", key, "number", "stamp") for key in logs]
        logs = yield from raw(core, list(enumerate(words)))
        missed = []
        for shard, log in enumerate(logs):
            number, stamp = (int(value or 0) for value in log)
            if number > newest.get(shard, number):
                missed.append(_missed_event(shard, number, stamp))
            newest[shard] = number
        return missed

    return check


def _missed_event(shard: int, number: int, stamp: int) -> Event:
    return Event(
        shard=shard,
        number=number,
        at=moment(stamp),
        version=VERSION,
        kind="missed",
        job_id="",
        queue="",
        attempt=0,
        worker="",
        priority=0,
    )
