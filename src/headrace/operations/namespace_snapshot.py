"""A snapshot of a namespace: the server, queues, workers, failures and event logs.

`top`, `doctor`, the metrics exporter and the demo read the state of a namespace with this
operation. The number of commands depends on the number of queues and shards, never on the number of
jobs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from headrace.engine import keys
from headrace.engine.call import build
from headrace.engine.events import entry_number
from headrace.engine.record import decode_record, name_in
from headrace.engine.statistics import Stats
from headrace.operations.batches import chunks
from headrace.operations.core import Core
from headrace.operations.daily_totals import daily_totals, merged_stats
from headrace.operations.failures import frequent_failures, newest_failures
from headrace.operations.queues import all_queues, counts_of, text_map
from headrace.operations.requests import ask_all, raw, together
from headrace.operations.sessions import merged_workers
from headrace.operations.values import Counts, Worker
from headrace.transport.drive import Operation, Send
from headrace.transport.transport import Command

# The maximum number of queues in one snapshot.
QUEUES = 200
WORKERS = 100
# The maximum number of failure types to read from each shard, and to return in a snapshot.
TYPES_PER_SHARD = 100
FAILURE_TYPES = 10
INFO_SECTIONS = ("server", "clients", "memory", "stats")


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Figures from INFO, summed over the nodes of a namespace; `uptime` is the shortest uptime.

    All fields are 0 or empty if INFO is not permitted.
    """

    version: str = ""
    nodes: int = 0
    memory: int = 0
    limit: int = 0
    commands: int = 0
    clients: int = 0
    uptime: int = 0


@dataclass(frozen=True, slots=True)
class QueueSnapshot:
    """One queue. `today` and `front` are set only if the queue was read in detail.

    `books` are the counters that the audit checks. `today` has the statistics of the current UTC
    day. `front` is the time when the job at the front of the queue began to wait, in milliseconds
    since 1970.
    """

    counts: Counts
    books: Mapping[str, int] = field(default_factory=dict)
    today: Stats | None = None
    front: int | None = None


@dataclass(frozen=True, slots=True)
class FailureCount:
    """A failure type, its number of jobs, and the newest failure time (milliseconds since 1970)."""

    type: str
    count: int
    newest: float | None


@dataclass(frozen=True, slots=True)
class LogState:
    """The event log of a shard: its length, and how many events each lake has yet to read."""

    length: int
    behind: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NamespaceSnapshot:
    """The state of a namespace. `at` is the server's time in milliseconds since 1970.

    `queues` is the requested page of all `queue_count` queues. `sessions` is the number of live
    workers; `workers` lists at most 100 workers per shard.
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
    """Read a page of queues, and the statistics of the queues in `detailed` (None: all queues)."""
    server = yield from _server(core)
    every = yield from all_queues(core)
    names = every[offset : offset + count]
    chosen = [name for name in names if detailed is None or name in detailed]
    counts, totals, workers, types = yield from together(
        counts_of(core, names),
        daily_totals(core, chosen),
        ask_all(core, build("workers", list, offset=0, count=WORKERS)),
        frequent_failures(core, 0, FAILURE_TYPES, most=TYPES_PER_SHARD),
    )
    newest, reads = yield from together(
        newest_failures(core, list(types)), _read_keys(core, names, chosen)
    )
    sessions, since = yield from _read_by_time(core, reads)
    return NamespaceSnapshot(
        at=reads.at,
        server=server,
        queues={
            name: QueueSnapshot(
                counts=counts[name],
                books=reads.books[name],
                today=merged_stats(name, totals[name], counts[name].failed)
                if name in totals
                else None,
                front=since.get(name),
            )
            for name in names
        },
        queue_count=len(every),
        workers=merged_workers(chain.from_iterable(workers)),
        sessions=sessions,
        failures=[
            FailureCount(kind, number, newest[kind][0] if kind in newest else None)
            for kind, number in types.items()
        ],
        logs=reads.logs,
    )


@dataclass(frozen=True, slots=True)
class _KeyReads:
    """The values of keys that are read without a script."""

    at: float
    books: dict[str, dict[str, int]]
    fronts: dict[str, list[tuple[int, str]]]
    logs: list[LogState]


def _read_keys(core: Core, names: Sequence[str], detailed: Sequence[str]) -> Operation[_KeyReads]:
    """Read keys of all shards without a script, in one round trip."""
    shards = range(core.shards)

    def everywhere(word: str, names: Iterable[str], *rest: str) -> list[Command]:
        return [(shard, (word, core.key(shard, key), *rest)) for key in names for shard in shards]

    parts = [
        everywhere("HMGET", [keys.LOG], "number", "trimmed"),
        everywhere("HGETALL", [keys.LAKES]),
        everywhere("HGETALL", map(keys.books, names)),
        everywhere("ZRANGE", map(keys.waiting, detailed), "0", "0"),
    ]
    replies = iter((yield from raw(core, [(0, ("TIME",)), *chain.from_iterable(parts)])))
    at = read_time(next(replies))
    logs, lakes, books, fronts = (list(islice(replies, len(part))) for part in parts)
    return _KeyReads(
        at=at,
        books={
            name: _summed(rows)
            for name, rows in zip(names, chunks(books, core.shards), strict=True)
        },
        fronts={
            name: [(shard, name_in(row[0])) for shard, row in enumerate(rows) if row]
            for name, rows in zip(detailed, chunks(fronts, core.shards), strict=True)
        },
        logs=[_log(log, marks) for log, marks in zip(logs, lakes, strict=True)],
    )


def _summed(rows: Sequence[list[bytes]]) -> dict[str, int]:
    total = Counter[str]()
    for row in rows:
        total.update({name: int(value) for name, value in text_map(row).items()})
    return total


def _log(log: Sequence[bytes | None], marks: list[bytes]) -> LogState:
    number, trimmed = (int(value or 0) for value in log)
    behind = {lake: number - entry_number(mark) for lake, mark in text_map(marks).items()}
    return LogState(number - trimmed, behind)


def _read_by_time(core: Core, reads: _KeyReads) -> Operation[tuple[int, dict[str, int]]]:
    """Return the number of live sessions, and when the front job of each queue began to wait.

    Every worker has a session on every shard. The number of workers is therefore the largest number
    of sessions on any shard.
    """
    fronts = [(name, shard, job) for name, ids in reads.fronts.items() for shard, job in ids]
    commands: list[Command] = [
        (shard, ("ZCOUNT", core.key(shard, keys.SESSIONS), reads.at, "+inf"))
        for shard in range(core.shards)
    ]
    commands += [(shard, ("GET", core.key(shard, keys.job(job)))) for _, shard, job in fronts]
    replies = yield from raw(core, commands)
    since: dict[str, int] = {}
    for (name, _, _), record in zip(fronts, replies[core.shards :], strict=True):
        if record is not None:
            found = decode_record(record).since
            since[name] = min(found, since.get(name, found))
    return max(replies[: core.shards]), since


# INFO and TIME


def _server(core: Core) -> Operation[ServerInfo]:
    """Read INFO of every node that holds a shard; leave out a node that returns an error."""
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
