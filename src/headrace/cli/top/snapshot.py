"""What a namespace looks like at one moment, read in a bounded number of commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from headrace.client.client import Client
from headrace.engine.call import Call, build
from headrace.engine.record import decode_record, name_in
from headrace.operations.core import Core
from headrace.operations.queues import queue_names, summed, text_map
from headrace.operations.requests import ask, raw
from headrace.operations.sessions import merged_workers
from headrace.operations.values import Counts, Worker
from headrace.transport.drive import Operation, drive
from headrace.transport.transport import Command

# A page of queues, of which some are seen at once; what lies between is only counted.
QUEUES = 200
QUEUES_A_CALL = 50
WORKERS = 100
TYPES = 100
NEWEST_OF = 10
SECTIONS = ("server", "clients", "memory", "stats")

Bins = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Server:
    """The nodes of a server together; what is not allowed to be known is 0 or empty."""

    version: str = ""
    nodes: int = 0
    memory: int = 0
    limit: int = 0
    commands: int = 0
    clients: int = 0
    uptime: int = 0


@dataclass(frozen=True, slots=True)
class Day:
    """What the statistics of a queue say of a UTC day."""

    number: int
    failures: int
    wait: Bins
    run: Bins


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue. The day is only read of queues that are seen."""

    counts: Counts
    put: int
    done: int
    day: Day | None = None
    front: int | None = None


@dataclass(frozen=True, slots=True)
class Failures:
    """A type of failures; the newest is in milliseconds since 1970."""

    type: str
    count: int
    newest: float | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A namespace at one moment, in milliseconds since 1970 by the server's clock."""

    at: float
    server: Server
    queues: Mapping[str, Queue]
    more: bool = False
    workers: Sequence[Worker] = ()
    sessions: int = 0
    failures: Sequence[Failures] = field(default=())


def take(client: Client, *, offset: int = 0, seen: Iterable[str] = ()) -> Snapshot:
    """A snapshot of a page of queues, in detail of those that are seen."""
    core = client.core
    server = _server(core)
    return drive(core.transport, _taken(core, server, offset, frozenset(seen)))


def _taken(core: Core, server: Server, offset: int, seen: frozenset[str]) -> Operation[Snapshot]:
    listed = yield from queue_names(core, offset, QUEUES + 1)
    names = listed[:QUEUES]
    detailed = [name for name in names if name in seen]
    workers, types, counts, days = yield from _called(core, names, detailed)
    at, sessions, books, fronts, newest = yield from _read(core, names, detailed, types)
    since = yield from _fronts(core, fronts)
    return Snapshot(
        at=at,
        server=server,
        queues={
            name: Queue(counts[name], *books[name], days.get(name), since.get(name))
            for name in names
        },
        more=len(listed) > QUEUES,
        workers=workers,
        sessions=sessions,
        failures=[Failures(kind, times, newest.get(kind)) for kind, times in types.items()],
    )


def _called(
    core: Core, names: Sequence[str], detailed: Sequence[str]
) -> Operation[tuple[list[Worker], dict[str, int], dict[str, Counts], dict[str, Day]]]:
    """What the operations say, in one round trip."""
    chunks = [names[at : at + QUEUES_A_CALL] for at in range(0, len(names), QUEUES_A_CALL)]
    calls: list[Call[Any]] = [
        build("workers", list, offset=0, count=WORKERS),
        build("failures", list, offset=0, count=TYPES),
        *(build("counts", list, [(name,) for name in chunk]) for chunk in chunks),
        *(build("stats", list, queue=name, day=-1) for name in detailed),
    ]
    shards = range(core.shards)
    replies = yield from ask(core, [(shard, call) for call in calls for shard in shards])
    by_call = [replies[at : at + core.shards] for at in range(0, len(replies), core.shards)]
    counted = by_call[2 : 2 + len(chunks)]
    counts = {
        name: summed([reply[at] for reply in by_shard])
        for chunk, by_shard in zip(chunks, counted, strict=True)
        for at, name in enumerate(chunk)
    }
    told = by_call[2 + len(chunks) :]
    days = {name: _day(by_shard) for name, by_shard in zip(detailed, told, strict=True)}
    return merged_workers(chain.from_iterable(by_call[0])), _types(by_call[1]), counts, days


def _types(replies: Sequence[list[bytes]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for reply in replies:
        for kind, times in zip(reply[::2], reply[1::2], strict=True):
            totals[kind.decode()] = totals.get(kind.decode(), 0) + int(times)
    ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:NEWEST_OF])


def _day(replies: Sequence[list[Any]]) -> Day:
    series: dict[str, dict[str, int]] = {"wait": {}, "run": {}}
    for reply in replies:
        for name, times in text_map(reply[2]).items():
            kind, _, bin_name = name.partition(":")
            series[kind][bin_name] = series[kind].get(bin_name, 0) + int(times)
    failures = sum(int(text_map(reply[1]).get("failures", 0)) for reply in replies)
    return Day(int(replies[0][0]), failures, series["wait"], series["run"])


Read = tuple[
    float, int, dict[str, tuple[int, int]], dict[str, list[tuple[int, str]]], dict[str, float]
]


def _read(
    core: Core, names: Sequence[str], detailed: Sequence[str], types: Iterable[str]
) -> Operation[Read]:
    """What plain reads say, in one round trip."""
    shards = range(core.shards)

    def everywhere(items: Iterable[str], *words: str) -> list[Command]:
        """A command for each item on each shard; {} in its words is the item."""
        before, key, *rest = words
        return [
            (shard, (before, core.key(shard, key.format(item)), *rest))
            for item in items
            for shard in shards
        ]

    parts = [
        everywhere([""], "ZCARD", "sessions"),
        everywhere(names, "HMGET", "books:{}", "put", "complete"),
        everywhere(detailed, "ZRANGE", "waiting:{}", "0", "0"),
        everywhere(types, "ZREVRANGE", "failures:{}", "0", "0", "WITHSCORES"),
    ]
    commands: list[Command] = [(0, ("TIME",)), *chain.from_iterable(parts)]
    replies = iter((yield from raw(core, commands)))
    seconds, micros = next(replies)
    sessions, books, fronts, newest = (list(islice(replies, len(part))) for part in parts)
    return (
        1000 * int(seconds) + int(micros) / 1000,
        max(sessions),
        {name: _booked(rows) for name, rows in _by_name(core, names, books)},
        {name: _first_ids(rows) for name, rows in _by_name(core, detailed, fronts)},
        {
            kind: max(float(row[1]) for row in rows if row)
            for kind, rows in _by_name(core, types, newest)
            if any(rows)
        },
    )


def _by_name(
    core: Core, names: Iterable[str], rows: Sequence[Any]
) -> Iterable[tuple[str, list[Any]]]:
    for at, name in enumerate(names):
        yield name, list(rows[at * core.shards : (at + 1) * core.shards])


def _booked(rows: Sequence[Sequence[bytes | None]]) -> tuple[int, int]:
    put, done = (sum(int(value or 0) for value in column) for column in zip(*rows, strict=True))
    return put, done


def _first_ids(rows: Sequence[Sequence[bytes]]) -> list[tuple[int, str]]:
    return [(shard, name_in(row[0])) for shard, row in enumerate(rows) if row]


def _fronts(core: Core, fronts: Mapping[str, list[tuple[int, str]]]) -> Operation[dict[str, int]]:
    """Since when the first of each queue waits, of several shards the earliest."""
    wanted = [(name, shard, job_id) for name, ids in fronts.items() for shard, job_id in ids]
    if not wanted:
        return {}
    packed = yield from raw(
        core, [(shard, ("GET", core.key(shard, f"job:{job_id}"))) for _, shard, job_id in wanted]
    )
    since: dict[str, int] = {}
    for (name, _, _), record in zip(wanted, packed, strict=True):
        if record is not None:
            found = decode_record(record).since
            since[name] = min(found, since.get(name, found))
    return since


def _server(core: Core) -> Server:
    told: dict[str, dict[str, str]] = {}
    for address in core.transport.nodes():
        [reply] = core.transport.exchange(address, [("INFO", *SECTIONS)])
        if isinstance(reply, bytes):
            about = _parsed(reply)
            told[about["run_id"]] = about
    if not told:
        return Server()
    nodes = list(told.values())

    def total(name: str) -> int:
        return sum(int(node.get(name, 0)) for node in nodes)

    return Server(
        version=_version(nodes[0]),
        nodes=len(nodes),
        memory=total("used_memory"),
        limit=total("maxmemory"),
        commands=total("instantaneous_ops_per_sec"),
        clients=total("connected_clients"),
        uptime=min(int(node["uptime_in_seconds"]) for node in nodes),
    )


def _version(about: Mapping[str, str]) -> str:
    name = "Valkey" if "valkey_version" in about else "Redis"
    return f"{name} {about.get('valkey_version', about['redis_version'])}"


def _parsed(text: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in text.decode(errors="replace").splitlines())
    return {name: value for name, colon, value in lines if colon}
