"""A snapshot of a namespace: the server, queues, workers, failures and event logs.

`top`, `doctor`, the metrics exporter and the demo read the state of a namespace with this
operation. Its number of commands depends on the number of queues and shards, never on the number
of jobs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from headrace.engine.call import Call, build
from headrace.engine.events import entry_number
from headrace.engine.record import decode_record, name_in
from headrace.engine.statistics import Series, merged, read_series
from headrace.operations.core import Core
from headrace.operations.queues import all_queues, summed, text_map
from headrace.operations.requests import ask, raw
from headrace.operations.sessions import merged_workers
from headrace.operations.values import Counts, Worker
from headrace.transport.drive import Operation, Send
from headrace.transport.transport import Command

# The number of queues in one snapshot, and in one script, which blocks the server.
QUEUES = 200
QUEUES_PER_SCRIPT = 50
WORKERS = 100
# Failure types read from each shard, and the number of most frequent ones returned.
TYPES_PER_SHARD = 100
FAILURE_TYPES = 10
INFO_SECTIONS = ("server", "clients", "memory", "stats")


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The nodes that hold a namespace, summed up. Empty if the user may not run INFO."""

    version: str = ""
    nodes: int = 0
    memory: int = 0
    limit: int = 0
    commands: int = 0
    clients: int = 0
    uptime: int = 0


@dataclass(frozen=True, slots=True)
class DayTotals:
    """The statistics of a queue for the current UTC day, numbered from 1970-01-01."""

    number: int
    failures: int
    retries: int
    wait: Series
    run: Series


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """One queue. `today` and `front` are read only for queues in detail.

    `books` are the counters of the audit. `front` is the time from which the next job has waited,
    in milliseconds since 1970.
    """

    counts: Counts
    books: Mapping[str, int] = field(default_factory=dict)
    today: DayTotals | None = None
    front: int | None = None


@dataclass(frozen=True, slots=True)
class FailureCount:
    """A failure type, its number of jobs and the newest failure, in milliseconds since 1970."""

    type: str
    count: int
    newest: float | None


@dataclass(frozen=True, slots=True)
class LogState:
    """The event log of one shard: its length, and the number of events that each lake lacks."""

    length: int
    behind: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NamespaceSnapshot:
    """A namespace at one time, in milliseconds since 1970 by the server's clock.

    `queues` are the requested page of all `queue_count` queues. `sessions` is the number of live
    workers, of which `workers` lists at most 100 per shard.
    """

    at: float
    server: ServerInfo
    queues: Mapping[str, QueueSnapshot]
    queue_count: int = 0
    workers: Sequence[Worker] = ()
    sessions: int = 0
    failures: Sequence[FailureCount] = ()
    logs: Sequence[LogState] = ()


def snapshot(
    core: Core, *, offset: int = 0, count: int = QUEUES, detailed: Collection[str] | None = None
) -> Operation[NamespaceSnapshot]:
    """Read a page of queues, and statistics of the `detailed` ones; None means all of the page."""
    server = yield from _server(core)
    every = yield from all_queues(core)
    names = every[offset : offset + count]
    chosen = [name for name in names if detailed is None or name in detailed]
    workers, types, counts, days = yield from _run_scripts(core, names, chosen)
    reads = yield from _read_keys(core, names, chosen, list(types))
    sessions, since = yield from _read_by_time(core, reads)
    return NamespaceSnapshot(
        at=reads.at,
        server=server,
        queues={
            name: QueueSnapshot(counts[name], reads.books[name], days.get(name), since.get(name))
            for name in names
        },
        queue_count=len(every),
        workers=workers,
        sessions=sessions,
        failures=[FailureCount(kind, n, reads.newest.get(kind)) for kind, n in types.items()],
        logs=reads.logs,
    )


def _run_scripts(
    core: Core, names: Sequence[str], detailed: Sequence[str]
) -> Operation[tuple[list[Worker], dict[str, int], dict[str, Counts], dict[str, DayTotals]]]:
    """Run the scripts for workers, failures, counts and statistics in one round trip."""
    chunks = [names[at : at + QUEUES_PER_SCRIPT] for at in range(0, len(names), QUEUES_PER_SCRIPT)]
    calls: list[Call[Any]] = [
        build("workers", list, offset=0, count=WORKERS),
        build("failures", list, offset=0, count=TYPES_PER_SHARD),
        *(build("counts", list, [(name,) for name in chunk]) for chunk in chunks),
        *(build("stats", list, queue=name, day=-1) for name in detailed),
    ]
    shards = range(core.shards)
    replies = yield from ask(core, [(shard, call) for call in calls for shard in shards])
    by_call = [replies[at : at + core.shards] for at in range(0, len(replies), core.shards)]
    counts = {
        name: summed([reply[at] for reply in by_shard])
        for chunk, by_shard in zip(chunks, by_call[2:], strict=False)
        for at, name in enumerate(chunk)
    }
    statistics = by_call[2 + len(chunks) :]
    days = {name: _day(by_shard) for name, by_shard in zip(detailed, statistics, strict=True)}
    return merged_workers(chain.from_iterable(by_call[0])), _types(by_call[1]), counts, days


def _types(replies: Sequence[list[bytes]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for reply in replies:
        for kind, times in zip(reply[::2], reply[1::2], strict=True):
            totals[kind.decode()] = totals.get(kind.decode(), 0) + int(times)
    ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:FAILURE_TYPES])


def _day(replies: Sequence[list[Any]]) -> DayTotals:
    parts = [(text_map(reply[1]), text_map(reply[2])) for reply in replies]
    return DayTotals(
        number=int(replies[0][0]),
        failures=sum(int(summary.get("failures", 0)) for summary, _ in parts),
        retries=sum(int(summary.get("retries", 0)) for summary, _ in parts),
        wait=merged(read_series("wait", summary, bins) for summary, bins in parts),
        run=merged(read_series("run", summary, bins) for summary, bins in parts),
    )


@dataclass(frozen=True, slots=True)
class _KeyReads:
    """Values of plain keys."""

    at: float
    books: dict[str, dict[str, int]]
    fronts: dict[str, list[tuple[int, str]]]
    newest: dict[str, float]
    logs: list[LogState]


def _read_keys(
    core: Core, names: Sequence[str], detailed: Sequence[str], types: Sequence[str]
) -> Operation[_KeyReads]:
    """Read plain keys of all shards in one round trip."""
    shards = range(core.shards)

    def everywhere(items: Iterable[str], word: str, key: str, *rest: str) -> list[Command]:
        return [
            (shard, (word, core.key(shard, key.format(item)), *rest))
            for item in items
            for shard in shards
        ]

    parts = [
        everywhere([""], "HMGET", "log", "number", "trimmed"),
        everywhere([""], "HGETALL", "lakes"),
        everywhere(names, "HGETALL", "books:{}"),
        everywhere(detailed, "ZRANGE", "waiting:{}", "0", "0"),
        everywhere(types, "ZREVRANGE", "failures:{}", "0", "0", "WITHSCORES"),
    ]
    replies = iter((yield from raw(core, [(0, ("TIME",)), *chain.from_iterable(parts)])))
    at = read_time(next(replies))
    logs, lakes, books, fronts, newest = (list(islice(replies, len(part))) for part in parts)
    return _KeyReads(
        at=at,
        books={name: _summed(rows) for name, rows in _by_name(core, names, books)},
        fronts={
            name: [(shard, name_in(row[0])) for shard, row in enumerate(rows) if row]
            for name, rows in _by_name(core, detailed, fronts)
        },
        newest={
            kind: max(float(row[1]) for row in rows if row)
            for kind, rows in _by_name(core, types, newest)
            if any(rows)
        },
        logs=[_log(log, marks) for log, marks in zip(logs, lakes, strict=True)],
    )


def _by_name(
    core: Core, names: Sequence[str], rows: Sequence[Any]
) -> Iterable[tuple[str, Sequence[Any]]]:
    for at, name in enumerate(names):
        yield name, rows[at * core.shards : (at + 1) * core.shards]


def _summed(rows: Sequence[list[bytes]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for row in rows:
        for name, value in text_map(row).items():
            total[name] = total.get(name, 0) + int(value)
    return total


def _log(log: Sequence[bytes | None], marks: list[bytes]) -> LogState:
    number, trimmed = (int(value or 0) for value in log)
    behind = {lake: number - entry_number(mark) for lake, mark in text_map(marks).items()}
    return LogState(number - trimmed, behind)


def _read_by_time(core: Core, reads: _KeyReads) -> Operation[tuple[int, dict[str, int]]]:
    """Return the number of live sessions, and since when the first job of each queue has waited.

    A session exists on every shard, so the largest count is the number of workers.
    """
    fronts = [(name, shard, job) for name, ids in reads.fronts.items() for shard, job in ids]
    commands: list[Command] = [
        (shard, ("ZCOUNT", core.key(shard, "sessions"), reads.at, "+inf"))
        for shard in range(core.shards)
    ]
    commands += [(shard, ("GET", core.key(shard, f"job:{job}"))) for _, shard, job in fronts]
    replies = yield from raw(core, commands)
    since: dict[str, int] = {}
    for (name, _, _), record in zip(fronts, replies[core.shards :], strict=True):
        if record is not None:
            found = decode_record(record).since
            since[name] = min(found, since.get(name, found))
    return max(replies[: core.shards]), since


# INFO and TIME


def _server(core: Core) -> Operation[ServerInfo]:
    """Read INFO of every node that holds a shard; an error leaves the node out."""
    commands: list[Command] = [(shard, ("INFO", *INFO_SECTIONS)) for shard in range(core.shards)]
    replies = yield Send(commands)
    infos = [parse_info(reply) for reply in replies if isinstance(reply, bytes)]
    nodes = list({info["run_id"]: info for info in infos}.values())
    if not nodes:
        return ServerInfo()

    def total(name: str) -> int:
        return sum(int(node.get(name, 0)) for node in nodes)

    return ServerInfo(
        version=server_version(nodes[0]),
        nodes=len(nodes),
        memory=total("used_memory"),
        limit=total("maxmemory"),
        commands=total("instantaneous_ops_per_sec"),
        clients=total("connected_clients"),
        uptime=min(int(node["uptime_in_seconds"]) for node in nodes),
    )


def parse_info(reply: bytes) -> dict[str, str]:
    """Return the fields of an INFO reply by name."""
    lines = (line.partition(":") for line in reply.decode(errors="replace").splitlines())
    return {name: value for name, colon, value in lines if colon}


def server_version(info: Mapping[str, str]) -> str:
    """Return the name and the version of a server."""
    name = "Valkey" if "valkey_version" in info else "Redis"
    return f"{name} {info.get('valkey_version', info['redis_version'])}"


def read_time(reply: Sequence[bytes]) -> float:
    """Return a TIME reply in milliseconds since 1970."""
    seconds, micros = reply
    return 1000 * int(seconds) + int(micros) / 1000
