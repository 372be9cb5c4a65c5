"""What is asked and said of queues: settings, counts, statistics, pause, deletion."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from headrace.engine import keys
from headrace.engine.call import build, optional, queue_answer
from headrace.engine.check import EPOCH, choice, day_number, page, text
from headrace.engine.settings import PROFILES, SETTINGS, Value, default, from_wire, known, to_wire
from headrace.engine.statistics import Stats, merged, read_series
from headrace.errors import InvalidArgument, QueueNotFound
from headrace.operations.core import Core
from headrace.operations.protocols import ClientLike, QueueLike
from headrace.operations.requests import ask, ask_one, raw
from headrace.operations.values import Counts
from headrace.transport.drive import Operation

DELETE_AT_MOST = 500
SHARED_LIMITS = {"concurrency", "rate"}
LISTED = 1000


def on_all_shards(core: Core, call: Any) -> Operation[list[Any]]:
    """Makes a call everywhere, the first shard last: it is the one that is read."""
    return (yield from ask(core, [(shard, call) for shard in reversed(range(core.shards))]))


def configure(
    queue: QueueLike, /, profile: str | None = None, **settings: Value
) -> Operation[None]:
    """Gives the queue a profile (job, fifo, task, manual, ring), settings of its own, or both.

    A profile replaces all earlier settings; a setting alone changes just that one.
    """
    stored: dict[str, bytes] = {}
    if profile is not None:
        choice("profile", profile, tuple(PROFILES))
        stored = {name: b"" for name in SETTINGS if name != "paused"}
        stored |= {name: optional(to_wire(name, v)) for name, v in PROFILES[profile].items()}
    for name, value in settings.items():
        if known(name).namespace_only:
            raise InvalidArgument(f"{name} is a setting of the namespace: client.config.set(...)")
        stored[name] = optional(to_wire(name, value))
    if queue.core.shards > 1 and SHARED_LIMITS & stored.keys():
        stored |= shares(queue.core, {name: settings.get(name) for name in SHARED_LIMITS})
    call = build("configure", int, list(stored.items()), queue=queue.name)
    yield from on_all_shards(queue.core, call)


def shares(core: Core, limits: Mapping[str, Value]) -> dict[str, bytes]:
    """How many shards share the limits, if each can have a part of them."""
    for name, value in limits.items():
        starts = int(str(value).partition("/")[0]) if value is not None else None
        if starts is not None and 0 < starts < core.shards:
            raise InvalidArgument(
                f"{name} must let through one for each of {core.shards} shards, not {value!r}; "
                "limits of a key have no such bound, as the jobs of a key live on one shard"
            )
    return {"shards": optional(str(core.shards))}


def settings(queue: QueueLike) -> Operation[dict[str, Value]]:
    """Every setting that holds for the queue, spans in seconds."""
    hashes = [queue.core.key(0, name) for name in (keys.CONFIG, keys.settings(queue.name))]
    shared, own = yield from raw(queue.core, [(0, ("HGETALL", key)) for key in hashes])
    stored = text_map(shared) | text_map(own)
    return {
        name: from_wire(name, stored[name]) if name in stored else default(name)
        for name, setting in SETTINGS.items()
        if not setting.namespace_only
    }


def text_map(pairs: list[bytes]) -> dict[str, str]:
    """A flat list of names and values as a dict."""
    names, values = pairs[::2], pairs[1::2]
    return {name.decode(): value.decode() for name, value in zip(names, values, strict=True)}


def pause(queue: QueueLike) -> Operation[None]:
    """From now on pop hands out nothing; everything else goes on."""
    yield from configure(queue, paused=True)


def resume(queue: QueueLike) -> Operation[None]:
    """From now on pop hands out jobs again."""
    yield from configure(queue, paused=False)


def counts(queue: QueueLike) -> Operation[Counts]:
    """How many jobs are in which state. A queue that nobody has used yet has none."""
    core = queue.core
    call = build("counts", list, [(queue.name,)])
    replies = yield from ask(core, [(shard, call) for shard in range(core.shards)])
    return summed([reply[0] for reply in replies])


def summed(rows: list[list[int]]) -> Counts:
    """The counts of a queue on all shards together."""
    _, paused, late, due, *states = (sum(column) for column in zip(*rows, strict=True))
    waiting, scheduled, blocked, running, failed, complete = states
    return Counts(
        waiting, scheduled, blocked, running, failed, complete, late, due, paused=paused > 0
    )


def length(queue: QueueLike) -> Operation[int]:
    """How many jobs wait, are scheduled, blocked or running."""
    return (yield from counts(queue)).length


def queues(
    client: ClientLike, *, offset: int = 0, count: int = 100
) -> Operation[dict[str, Counts]]:
    """The queues in the order of their first use, with their counts."""
    core = client.core
    names = yield from queue_names(core, *page(offset, count))
    if not names:
        return {}
    call = build("counts", list, [(name,) for name in names])
    replies = yield from ask(core, [(shard, call) for shard in range(core.shards)])
    return {name: summed([reply[at] for reply in replies]) for at, name in enumerate(names)}


def queue_names(core: Core, offset: int, count: int) -> Operation[list[str]]:
    """Names of queues in the order of their first use, each shard having its own order."""
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
    """Waiting and running times of a UTC day (default: today), failures and retries."""
    core = queue.core
    number = -1 if day is None else day_number(day)
    call = build("stats", list, queue=queue.name, day=number)
    replies = yield from ask(core, [(shard, call) for shard in range(core.shards)])
    summaries = [text_map(reply[1]) for reply in replies]
    bins = [text_map(reply[2]) for reply in replies]
    series = {
        name: merged(
            read_series(name, summary, found)
            for summary, found in zip(summaries, bins, strict=True)
        )
        for name in ("wait", "run")
    }
    return Stats(
        queue=queue.name,
        day=EPOCH + timedelta(days=int(replies[0][0])),
        wait=series["wait"],
        run=series["run"],
        failed=sum(reply[3] for reply in replies),
        failures=sum(int(summary.get("failures", 0)) for summary in summaries),
        retries=sum(int(summary.get("retries", 0)) for summary in summaries),
    )


def delete(queue: QueueLike) -> Operation[None]:
    """Deletes the queue with every job, setting and statistic of it; running jobs are cancelled.

    Up to 500 jobs it is one atomic step; more are deleted in several, and it may be called again.
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


# the settings of the namespace


def config_get(client: ClientLike, name: str | None = None) -> Operation[Any]:
    """A setting of the namespace, or all of them; what nobody set has its default."""
    if name is not None:
        _of_namespace(name)
    stored = yield from config(client.core)
    every = {
        each: from_wire(each, stored[each]) if each in stored else default(each)
        for each, setting in SETTINGS.items()
        if not setting.queue_only
    }
    return every if name is None else every[name]


def config(core: Core) -> Operation[dict[str, str]]:
    """Return the settings of the namespace that were set, as they are stored."""
    [stored] = yield from raw(core, [(0, ("HGETALL", core.key(0, keys.CONFIG)))])
    return text_map(stored)


def config_set(client: ClientLike, name: str, value: Value) -> Operation[None]:
    """Sets a default for every queue that does not say otherwise itself."""
    _of_namespace(name)
    call = build("config_set", int, [(name, optional(to_wire(name, value)))])
    yield from on_all_shards(client.core, call)


def config_unset(client: ClientLike, name: str) -> Operation[None]:
    """The default holds again."""
    _of_namespace(name)
    yield from on_all_shards(client.core, build("config_set", int, [(name, b"")]))


def _of_namespace(name: str) -> None:
    if known(name).queue_only:
        raise InvalidArgument(f"{name} is a setting of a queue: queue.configure({name}=...)")


class QueueRef:
    """A queue of a namespace, by name."""

    def __init__(self, core: Core, name: str) -> None:
        self.core = core
        self.name = check_name(core, name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {self.core.namespace!r}>"


def check_name(core: Core, name: str) -> str:
    """The name of a queue, if it can be one."""
    return text("queue", name, core.limits.name)


def all_queues(core: Core) -> Operation[list[str]]:
    """Every queue of the namespace."""
    names: list[str] = []
    while True:
        found = yield from queue_names(core, len(names), LISTED)
        names += found
        if len(found) < LISTED:
            return names
