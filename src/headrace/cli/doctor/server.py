"""The checks of a server. Each check examines one node of the server."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.cli.doctor.finding import Finding, not_applicable, ok, problem, warning
from headrace.cli.doctor.target import CommandRefused, ServerNode
from headrace.cli.output import counted, size, span
from headrace.engine.script import LIBRARY, operations
from headrace.operations.namespace_snapshot import server_version

OLDEST = 7
NEARLY_FULL = 0.75
FULL = 0.9
NEARLY_ALL = 0.8
ROUND_TRIPS = 20
FAR = 0.01
SLOWLOG = 128
SLOW = 0.1
BEHIND = 10


def version(node: ServerNode) -> Finding:
    """Check the version of the server, and that the node is a primary."""
    info = node.info
    what = f"{server_version(info)}, up for {span(node.number('uptime_in_seconds'))}"
    if too_old(info["redis_version"]):
        return problem(what, f"upgrade the server to Redis {OLDEST} or later, or to Valkey")
    if info.get("role") != "master":
        return problem(f"{what}, a replica", "connect to the primary; a replica accepts no jobs")
    return ok(what)


def too_old(shown: str) -> bool:
    """Return whether a version of the server is too old for Headrace's scripts."""
    return int(shown.split(".", 1)[0]) < OLDEST


def eviction(node: ServerNode) -> Finding:
    """Check that a full server does not delete jobs."""
    policy = node.info["maxmemory_policy"]
    if gone := node.number("evicted_keys"):
        return problem(
            f"{policy}; the server has evicted keys since it started: {gone:,}",
            "run headrace audit, because jobs may be lost; set maxmemory-policy noeviction; "
            "then CONFIG RESETSTAT",
        )
    if policy == "noeviction":
        return ok("a full server refuses new jobs and deletes none (noeviction)")
    advice = "CONFIG SET maxmemory-policy noeviction, also in the server's configuration file"
    if node.number("maxmemory") == 0:
        return warning(f"{policy}, which has no effect until maxmemory is set", advice)
    return problem(f"{policy}: a full server deletes jobs", advice)


def memory(node: ServerNode) -> Finding:
    """Check the free memory of the server."""
    used, limit = node.number("used_memory"), node.number("maxmemory")
    if limit:
        return fullness(used, limit, f"{size(used)} of {size(limit)} (maxmemory)")
    machine = node.number("total_system_memory")
    what = f"{size(used)} used, no maxmemory"
    return (
        fullness(used, machine, f"{what}; the machine has {size(machine)}") if machine else ok(what)
    )


def fullness(used: int, limit: int, what: str) -> Finding:
    """Assess the share of memory in use."""
    advice = "add memory, or lower the settings keep_count, events_count and event_data"
    if used >= FULL * limit:
        return problem(what, advice)
    return warning(what, advice) if used >= NEARLY_FULL * limit else ok(what)


def durability(node: ServerNode) -> Finding:
    """Check how many jobs a crash of the server could lose."""
    if node.info["aof_enabled"] != "1":
        return _without_aof(node)
    try:
        return fsync_policy(node.setting("appendfsync"))
    except CommandRefused as error:
        return not_applicable(
            f"AOF is on; its fsync policy was not checked, because the user may not run {error}",
            error.advice,
        )


def fsync_policy(policy: str) -> Finding:
    """Assess the fsync policy of the AOF."""
    if policy == "always":
        return ok("AOF, written before each reply: a crash loses nothing that was acknowledged")
    if policy == "everysec":
        return ok(
            "AOF, synced every second: a crash of the machine loses the changes of up to 2 seconds"
        )
    return warning(
        f"AOF, appendfsync {policy}: a crash of the machine loses 30 seconds or more",
        "CONFIG SET appendfsync everysec",
    )


def _without_aof(node: ServerNode) -> Finding:
    advice = "CONFIG SET appendonly yes, also in the server's configuration file"
    try:
        snapshots = node.setting("save")
    except CommandRefused:
        snapshots = "unknown"
    if snapshots:
        return warning("no AOF: a crash loses everything since the last snapshot", advice)
    return problem("neither AOF nor snapshots: a crash or a restart loses every job", advice)


def disk(node: ServerNode) -> Finding:
    """Check that the last writes to disk succeeded."""
    wrong = [
        what
        for what, name in (
            ("snapshot", "rdb_last_bgsave_status"),
            ("AOF write", "aof_last_write_status"),
            ("AOF rewrite", "aof_last_bgrewrite_status"),
        )
        if node.info.get(name, "ok") != "ok"
    ]
    if wrong:
        return problem(
            f"the last {' and the last '.join(wrong)} failed",
            "read the server's log; the usual reasons are a full disk or missing permissions",
        )
    return ok("the last snapshot and AOF writes succeeded")


def replicas(node: ServerNode) -> Finding:
    """Check that replicas are up to date."""
    count = node.number("connected_slaves")
    if not count:
        return not_applicable("no replicas: if the server's machine is lost, all jobs are lost")
    lines = [node.info[f"slave{number}"] for number in range(count)]
    behind = sum(lags(line) for line in lines)
    if behind:
        return warning(
            f"{behind} of {counted(count, 'replica')} offline or more than {BEHIND} s behind",
            "check the logs of the replicas and the network; a failover now would lose jobs",
        )
    return ok(f"{counted(count, 'replica')}, all up to date")


def lags(line: str) -> bool:
    """Read a replica's line in INFO; return True if it is offline or lags behind the primary."""
    fields = dict(part.partition("=")[::2] for part in line.split(","))
    return fields.get("state") != "online" or int(fields.get("lag", 0)) > BEHIND


def clock(node: ServerNode) -> Finding:
    """Compare the clocks of the server and this machine.

    Headrace does not depend on the client's clock.
    """
    apart = node.time() - time.time()
    side = "ahead of" if apart > 0 else "behind"
    return ok(f"{span(abs(apart))} {side} this machine; Headrace uses only the server's clock")


def round_trip(usual: float, worst: float) -> Finding:
    """Assess the median and the longest round trip, in seconds."""
    what = f"a round trip takes {span(usual)}, at worst {span(worst)}"
    if usual < FAR:
        return ok(what)
    return warning(what, "run workers closer to the server, or pop and complete jobs in batches")


def slowness(entries: Iterable[Sequence[Any]]) -> Finding:
    """Warn if the slow log has entries of at least SLOW seconds."""
    names = {LIBRARY.operations[op].function: op for op in operations()}
    slowest: dict[str, tuple[int, float]] = {}
    for entry in entries:
        name, seconds = _slow_name(entry[3], names), entry[2] / 1e6
        times, worst = slowest.get(name, (0, 0.0))
        slowest[name] = times + 1, max(worst, seconds)
    if not slowest:
        return ok("the slow log is empty")
    ranked = sorted(slowest.items(), key=lambda item: -item[1][1])
    what = "; ".join(f"{name} {times}x, up to {span(worst)}" for name, (times, worst) in ranked[:5])
    if ranked[0][1][1] < SLOW:
        return ok(what)
    return warning(what, "use smaller batches, and avoid slow commands in other programs")


def _slow_name(words: Sequence[bytes], names: dict[bytes, str]) -> str:
    """Return the name of a command without its arguments, which may contain user data."""
    command = words[0].decode(errors="replace").upper()
    if command not in ("EVALSHA", "EVALSHA_RO", "FCALL", "FCALL_RO"):
        return command
    op = names.get(words[1]) if len(words) > 1 else None
    return (
        f"Headrace's {op}" if op else "a function or script of another program or Headrace version"
    )


def connection_count(clients: int, most: int) -> Finding:
    """Assess the number of connections."""
    what = f"{clients} of {most} connections"
    if most and clients >= NEARLY_ALL * most:
        advice = "raise maxclients and the server's open file limit, or use fewer processes"
        return problem(what, advice) if clients >= 0.95 * most else warning(what, advice)
    return ok(what)


def libraries(listed: str) -> Finding:
    """Count the connections of each client library in a reply to CLIENT LIST."""
    found = Counter[str]()
    for line in listed.splitlines():
        fields = dict(part.partition("=")[::2] for part in line.split(" "))
        name = f"{fields.get('lib-name', '')} {fields.get('lib-ver', '')}".strip()
        found[name or "unknown"] += 1
    return ok(", ".join(f"{name}: {times}" for name, times in found.most_common(5)))


CHECKS: tuple[tuple[str, Callable[[ServerNode], Finding]], ...] = (
    ("server", version),
    ("eviction", eviction),
    ("memory", memory),
    ("durability", durability),
    ("disk", disk),
    ("replicas", replicas),
    ("clock", clock),
    ("latency", lambda node: round_trip(*node.round_trip(ROUND_TRIPS))),
    ("slow scripts", lambda node: slowness(node.ask("SLOWLOG", "GET", str(SLOWLOG)))),
    (
        "connections",
        lambda node: connection_count(node.number("connected_clients"), node.number("maxclients")),
    ),
    ("clients", lambda node: libraries(node.ask("CLIENT", "LIST").decode(errors="replace"))),
)
