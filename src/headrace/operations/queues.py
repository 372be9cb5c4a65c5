"""Queues with their settings, counts and statistics, and the settings of the namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.engine import keys
from headrace.engine.call import Call, build, optional, queue_answer
from headrace.engine.check import choice, page, text
from headrace.engine.settings import PROFILES, SETTINGS, Value, default, from_wire, known, to_wire
from headrace.errors import InvalidArgument, QueueNotFound
from headrace.operations.batches import chunks
from headrace.operations.core import Core
from headrace.operations.paging import all_items, first_names
from headrace.operations.protocols import ClientLike, QueueLike
from headrace.operations.requests import ask, ask_all, ask_one, raw
from headrace.operations.values import Counts
from headrace.transport.drive import Operation

DELETE_AT_MOST = 250
SHARED_LIMITS = {"concurrency", "rate"}
# The number of queue names to read per round trip.
LISTED = 1000
# The number of queues to count per call. A longer call would keep the server busy for too long.
COUNTED_PER_CALL = 50


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
    call = build("configure", int, list(stored.items()), queue=queue.name, actor=queue.core.actor)
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
    values = _with_defaults(text_map(shared) | text_map(own))
    return {name: value for name, value in values.items() if not SETTINGS[name].namespace_only}


def _with_defaults(stored: Mapping[str, str]) -> dict[str, Value]:
    return {
        name: from_wire(name, stored[name]) if name in stored else default(name)
        for name in SETTINGS
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
    return (yield from counts_of(queue.core, [queue.name]))[queue.name]


def counts_of(core: Core, names: Sequence[str]) -> Operation[dict[str, Counts]]:
    """Return the counts of queues, summed over the shards."""
    found: dict[str, Counts] = {}
    for part in chunks(names, COUNTED_PER_CALL):
        replies = yield from ask_all(core, build("counts", list, [(name,) for name in part]))
        found |= zip(part, map(_summed, zip(*replies, strict=True)), strict=True)
    return found


def _summed(rows: Iterable[list[int]]) -> Counts:
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
    """Return a page of queues with their job counts, in the order in which they were first used.

    With several shards the counts are summed.

    Raises InvalidArgument if `offset` or `count` is out of range.

        for name, counts in client.queues().items():
            print(name, counts.waiting, counts.running)
    """
    core = client.core
    return (yield from counts_of(core, (yield from queue_names(core, *page(offset, count)))))


def queue_names(core: Core, offset: int, count: int) -> Operation[list[str]]:
    """Return the names of queues in the order of their earliest use on any shard."""
    return (yield from first_names(core, keys.QUEUES, offset, count))


def delete(queue: QueueLike) -> Operation[None]:
    """Delete the queue with all its jobs, settings and statistics; running jobs are cancelled.

    A queue of up to 500 jobs per shard is deleted in one atomic step, a larger queue in several
    steps. If the call is interrupted, repeat the call.

    Raises QueueNotFound if there is no such queue.

        queue.delete()
    """
    core = queue.core
    found = False
    for shard in range(core.shards):
        try:
            while not (yield from ask_one(core, shard, _delete_call(queue.name))):
                found = True
            found = True
        except QueueNotFound:
            continue
    if not found:
        raise QueueNotFound(queue.name)


def _delete_call(name: str) -> Call[int]:
    return build("delete_queue", queue_answer(name), queue=name, at_most=DELETE_AT_MOST)


# Settings of the namespace.


def config_get(client: ClientLike, name: str | None = None) -> Operation[Any]:
    """Return one setting of the namespace, or all settings as a dict, including defaults.

    Raises InvalidArgument if the setting does not exist, or exists only for queues.

        client.config.get("lease")
    """
    if name is not None:
        _check_namespace_setting(name)
    values = _with_defaults((yield from config(client.core)))
    if name is not None:
        return values[name]
    return {each: value for each, value in values.items() if not SETTINGS[each].queue_only}


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
    call = build(
        "config_set",
        int,
        [(name, optional(to_wire(name, value)))],
        actor=client.core.actor,
    )
    yield from on_all_shards(client.core, call)


def config_unset(client: ClientLike, name: str) -> Operation[None]:
    """Remove a setting of the namespace, so that its built-in default applies again.

    Raises InvalidArgument if the setting does not exist, or exists only for queues.

        client.config.unset("lease")
    """
    _check_namespace_setting(name)
    yield from on_all_shards(
        client.core, build("config_set", int, [(name, b"")], actor=client.core.actor)
    )


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
