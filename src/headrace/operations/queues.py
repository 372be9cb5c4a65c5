"""Queues with their settings, counts and statistics, and the settings of the namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from headrace.engine import keys
from headrace.engine.call import build, optional, queue_answer
from headrace.engine.check import EPOCH, choice, day_number, page, text
from headrace.engine.settings import PROFILES, SETTINGS, Value, default, from_wire, known, to_wire
from headrace.engine.statistics import Stats, merged, read_series
from headrace.errors import InvalidArgument, QueueNotFound
from headrace.operations.core import Core
from headrace.operations.paging import all_items
from headrace.operations.protocols import ClientLike, QueueLike
from headrace.operations.requests import ask, ask_all, ask_one, raw
from headrace.operations.values import Counts
from headrace.transport.drive import Operation

DELETE_AT_MOST = 500
SHARED_LIMITS = {"concurrency", "rate"}
# The number of queue names to read per round trip.
LISTED = 1000


def on_all_shards(core: Core, call: Any) -> Operation[list[Any]]:
    """Make a call on every shard. Shard 0 is last, because settings are read from shard 0."""
    return (yield from ask(core, [(shard, call) for shard in reversed(range(core.shards))]))


def configure(
    queue: QueueLike, /, profile: str | None = None, **settings: Value
) -> Operation[None]:
    """Set the profile (job, fifo, task, manual, ring) or single settings of the queue, or both.

    A profile replaces all earlier settings. A single setting leaves the other settings unchanged.

    Raises InvalidArgument for an unknown profile or setting, or for an invalid value.

        queue.configure("task", concurrency=10, rate="100/s")
    """
    stored: dict[str, bytes] = {}
    if profile is not None:
        choice("profile", profile, tuple(PROFILES))
        stored = {name: b"" for name in SETTINGS if name != "paused"}
        stored |= {name: optional(to_wire(name, v)) for name, v in PROFILES[profile].items()}
    for name, value in settings.items():
        if known(name).namespace_only:
            raise InvalidArgument(
                f"{name} is a setting of the namespace: use client.config.set(...)"
            )
        stored[name] = optional(to_wire(name, value))
    if queue.core.shards > 1 and SHARED_LIMITS & stored.keys():
        stored |= shares(queue.core, {name: settings.get(name) for name in SHARED_LIMITS})
    call = build("configure", int, list(stored.items()), queue=queue.name)
    yield from on_all_shards(queue.core, call)


def shares(core: Core, limits: Mapping[str, Value]) -> dict[str, bytes]:
    """Return the setting `shards`: the number of shards over which limits are divided.

    Raises InvalidArgument if a limit is smaller than the number of shards.
    """
    for name, value in limits.items():
        starts = int(str(value).partition("/")[0]) if value is not None else None
        if starts is not None and 0 < starts < core.shards:
            raise InvalidArgument(
                f"{name} must allow at least one job for each of the {core.shards} shards, not "
                f"{value!r}; limits per key may be lower, because the jobs of a key share a shard"
            )
    return {"shards": optional(str(core.shards))}


def settings(queue: QueueLike) -> Operation[dict[str, Value]]:
    """Return every setting of the queue, including defaults; durations are in seconds.

    A setting of the namespace applies to the queues that do not have this setting themselves.

    Raises ServerUnavailable if the server does not answer.

        queue.settings()["lease"]
    """
    hashes = [queue.core.key(0, name) for name in (keys.CONFIG, keys.settings(queue.name))]
    shared, own = yield from raw(queue.core, [(0, ("HGETALL", key)) for key in hashes])
    stored = text_map(shared) | text_map(own)
    return {
        name: from_wire(name, stored[name]) if name in stored else default(name)
        for name, setting in SETTINGS.items()
        if not setting.namespace_only
    }


def text_map(pairs: list[bytes]) -> dict[str, str]:
    """Return a flat list of names and values as a dict."""
    names, values = pairs[::2], pairs[1::2]
    return {name.decode(): value.decode() for name, value in zip(names, values, strict=True)}


def pause(queue: QueueLike) -> Operation[None]:
    """Pause the queue: pop returns no jobs until the queue is resumed; jobs can still be put.

    Raises ServerUnavailable if the server does not answer.

        queue.pause()
    """
    yield from configure(queue, paused=True)


def resume(queue: QueueLike) -> Operation[None]:
    """Resume a paused queue.

    Raises ServerUnavailable if the server does not answer.

        queue.resume()
    """
    yield from configure(queue, paused=False)


def counts(queue: QueueLike) -> Operation[Counts]:
    """Return the number of jobs in each state; a queue that was never used has no jobs.

    Raises ServerUnavailable if the server does not answer.

        counts = queue.counts()
        print(counts.waiting, counts.running, counts.failed)
    """
    core = queue.core
    call = build("counts", list, [(queue.name,)])
    replies = yield from ask_all(core, call)
    return summed([reply[0] for reply in replies])


def summed(rows: list[list[int]]) -> Counts:
    """Return the counts of a queue, summed over the shards."""
    _, paused, late, due, *states = (sum(column) for column in zip(*rows, strict=True))
    waiting, scheduled, blocked, running, failed, complete = states
    return Counts(
        waiting, scheduled, blocked, running, failed, complete, late, due, paused=paused > 0
    )


def length(queue: QueueLike) -> Operation[int]:
    """Return how many jobs are waiting, scheduled, blocked or running.

    Raises ServerUnavailable if the server does not answer.
    """
    return (yield from counts(queue)).length


def queues(
    client: ClientLike, *, offset: int = 0, count: int = 100
) -> Operation[dict[str, Counts]]:
    """Return a page of the queues with their counts, in the order of the first use of each queue.

    With several shards the counts are summed.

    Raises InvalidArgument if `offset` or `count` is out of range.

        for name, counts in client.queues().items():
            print(name, counts.waiting, counts.running)
    """
    core = client.core
    names = yield from queue_names(core, *page(offset, count))
    if not names:
        return {}
    call = build("counts", list, [(name,) for name in names])
    replies = yield from ask_all(core, call)
    return {name: summed([reply[at] for reply in replies]) for at, name in enumerate(names)}


def queue_names(core: Core, offset: int, count: int) -> Operation[list[str]]:
    """Return the names of queues in the order of their earliest use on any shard."""
    sets = [core.key(shard, keys.QUEUES) for shard in range(core.shards)]
    words = (0, offset + count - 1, "WITHSCORES")
    replies = yield from raw(core, [(at, ("ZRANGE", key, *words)) for at, key in enumerate(sets)])
    order: dict[str, float] = {}
    for reply in replies:
        for name, first_use in zip(reply[::2], reply[1::2], strict=True):
            at = float(first_use)
            order[name.decode()] = min(at, order.get(name.decode(), at))
    return sorted(order, key=lambda name: (order[name], name))[offset : offset + count]


def stats(queue: QueueLike, day: str | date | None = None) -> Operation[Stats]:
    """Return the waiting and running times, failures and retries of a UTC day (default: today).

    `day` is a date or a string such as "2026-11-18".

    Raises InvalidArgument if `day` is malformed or before 1970.

        queue.stats().run.mean
    """
    core = queue.core
    number = -1 if day is None else day_number(day)
    call = build("stats", list, queue=queue.name, day=number)
    replies = yield from ask_all(core, call)
    return Stats(
        queue=queue.name,
        day=EPOCH + timedelta(days=int(replies[0][0])),
        failed=sum(reply[3] for reply in replies),
        **merged_day(replies),
    )


def merged_day(replies: Sequence[list[Any]]) -> dict[str, Any]:
    """Merge the replies of the script `stats` from all shards: times, failures and retries."""
    parts = [(text_map(reply[1]), text_map(reply[2])) for reply in replies]
    return {
        "wait": merged(read_series("wait", *part) for part in parts),
        "run": merged(read_series("run", *part) for part in parts),
        "failures": sum(int(summary.get("failures", 0)) for summary, _ in parts),
        "retries": sum(int(summary.get("retries", 0)) for summary, _ in parts),
    }


def delete(queue: QueueLike) -> Operation[None]:
    """Delete the queue with all its jobs, settings and statistics; running jobs are cancelled.

    A queue of up to 500 jobs per shard is deleted in one atomic step, a larger queue in several
    steps. If the call is interrupted, repeat the call.

    Raises QueueNotFound if there is no such queue.

        queue.delete()
    """
    core = queue.core
    call = build("delete_queue", queue_answer(queue.name), queue=queue.name, at_most=DELETE_AT_MOST)
    found = False
    for shard in range(core.shards):
        try:
            while not (yield from ask_one(core, shard, call)):
                found = True
            found = True
        except QueueNotFound:
            continue
    if not found:
        raise QueueNotFound(queue.name)


# Settings of the namespace.


def config_get(client: ClientLike, name: str | None = None) -> Operation[Any]:
    """Return one setting of the namespace, or all settings as a dict, including defaults.

    Raises InvalidArgument if the setting does not exist, or exists only for queues.

        client.config.get("lease")
    """
    if name is not None:
        _check_namespace_setting(name)
    stored = yield from config(client.core)
    every = {
        each: from_wire(each, stored[each]) if each in stored else default(each)
        for each, setting in SETTINGS.items()
        if not setting.queue_only
    }
    return every if name is None else every[name]


def config(core: Core) -> Operation[dict[str, str]]:
    """Return the settings that were set for the namespace, in their stored form."""
    [stored] = yield from raw(core, [(0, ("HGETALL", core.key(0, keys.CONFIG)))])
    return text_map(stored)


def config_set(client: ClientLike, name: str, value: Value) -> Operation[None]:
    """Set a default for all queues that do not have this setting themselves.

    Raises InvalidArgument if the setting does not exist or exists only for queues, or if the value
    is invalid.

        client.config.set("lease", 60)
    """
    _check_namespace_setting(name)
    call = build("config_set", int, [(name, optional(to_wire(name, value)))])
    yield from on_all_shards(client.core, call)


def config_unset(client: ClientLike, name: str) -> Operation[None]:
    """Remove a setting of the namespace, so that its built-in default applies again.

    Raises InvalidArgument if the setting does not exist, or exists only for queues.

        client.config.unset("lease")
    """
    _check_namespace_setting(name)
    yield from on_all_shards(client.core, build("config_set", int, [(name, b"")]))


def _check_namespace_setting(name: str) -> None:
    if known(name).queue_only:
        raise InvalidArgument(f"{name} is a setting of a queue: use queue.configure({name}=...)")


class QueueRef:
    """A reference to a queue of a namespace, by name."""

    def __init__(self, core: Core, name: str) -> None:
        self.core = core
        self.name = check_name(core, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core.namespace!r}>"


def check_name(core: Core, name: str) -> str:
    """Return the name of a queue; raise InvalidArgument if the name is malformed."""
    return text("queue", name, core.limits.name)


def all_queues(core: Core) -> Operation[list[str]]:
    """Return the names of all queues of the namespace."""
    return (yield from all_items(queue_names, core, size=LISTED))
