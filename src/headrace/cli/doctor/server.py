"""The checks of a server: each looks at one node."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

from headrace.cli.doctor.finding import Finding, not_applicable, ok, problem, warning
from headrace.cli.doctor.patient import MayNot, Node
from headrace.cli.words import size, span
from headrace.engine.script import LIBRARY, operations

OLDEST = 7
NEARLY_FULL = 0.75
FULL = 0.9
NEARLY_ALL = 0.8
ROUND_TRIPS = 20
FAR = 0.01
SLOWLOG = 128
SLOW = 0.1
BEHIND = 10


def version(node: Node) -> Finding:
    """Reachable, new enough, and a primary."""
    info = node.info
    name = "Valkey" if "valkey_version" in info else "Redis"
    shown = info.get("valkey_version", info["redis_version"])
    what = f"{name} {shown}, up for {span(node.number('uptime_in_seconds'))}"
    if too_old(info["redis_version"]):
        return problem(what, f"upgrade it: Headrace needs Redis {OLDEST} or later, or Valkey")
    if info.get("role") != "master":
        return problem(f"{what}, a replica", "connect to its primary: a replica takes no jobs")
    return ok(what)


def too_old(shown: str) -> bool:
    """Whether a server of this version lacks what the scripts need."""
    return int(shown.split(".", 1)[0]) < OLDEST


def eviction(node: Node) -> Finding:
    """Whether a full server deletes jobs."""
    policy = node.info["maxmemory_policy"]
    if gone := node.number("evicted_keys"):
        return problem(
            f"{policy}; the server has evicted keys since it began: {gone:,}",
            "run headrace audit: jobs may be gone; maxmemory-policy must be noeviction; "
            "CONFIG RESETSTAT when that is seen to",
        )
    if policy == "noeviction":
        return ok("a full server refuses new jobs and deletes none (noeviction)")
    advice = "CONFIG SET maxmemory-policy noeviction, and write it into the server's configuration"
    if node.number("maxmemory") == 0:
        return warning(f"{policy}, without effect until maxmemory is set", advice)
    return problem(f"{policy}: a full server deletes jobs", advice)


def memory(node: Node) -> Finding:
    """How full the server is."""
    used, limit = node.number("used_memory"), node.number("maxmemory")
    if limit:
        return fullness(used, limit, f"{size(used)} of {size(limit)} (maxmemory)")
    machine = node.number("total_system_memory")
    what = f"{size(used)} used, no maxmemory"
    return (
        fullness(used, machine, f"{what}; the machine has {size(machine)}") if machine else ok(what)
    )


def fullness(used: int, limit: int, what: str) -> Finding:
    """What a share of memory means."""
    advice = "give it more memory, or keep less: settings keep_count, events_count, event_data"
    if used >= FULL * limit:
        return problem(what, advice)
    return warning(what, advice) if used >= NEARLY_FULL * limit else ok(what)


def durability(node: Node) -> Finding:
    """What a crash of the server would lose."""
    if node.info["aof_enabled"] != "1":
        return _without_aof(node)
    try:
        return what_fsync_means(node.setting("appendfsync"))
    except MayNot as error:
        return not_applicable(
            f"AOF is on; how often it is written: may not run {error}", error.advice
        )


def what_fsync_means(policy: str) -> Finding:
    """What the policy of the AOF means."""
    if policy == "always":
        return ok("AOF, written before each answer: a crash loses nothing that was answered")
    if policy == "everysec":
        return ok("AOF, written every second: a crash of the machine loses up to 2 seconds")
    return warning(
        f"AOF, appendfsync {policy}: a crash of the machine loses what the system has not written, "
        "30 seconds or more",
        "CONFIG SET appendfsync everysec",
    )


def _without_aof(node: Node) -> Finding:
    advice = "CONFIG SET appendonly yes, and write it into the server's configuration"
    try:
        snapshots = node.setting("save")
    except MayNot:
        snapshots = "perhaps"
    if snapshots:
        return warning("no AOF: a crash loses everything since the last snapshot", advice)
    return problem("neither AOF nor snapshots: a crash or a restart loses every job", advice)


def disk(node: Node) -> Finding:
    """Whether what was to be written could be."""
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
            "look into the server's log; a full disk or missing rights are the usual reasons",
        )
    return ok("no snapshot or AOF write has failed lately")


def replicas(node: Node) -> Finding:
    """Whether copies keep up."""
    count = node.number("connected_slaves")
    if not count:
        return not_applicable("none: if the machine is lost, so is its data")
    lines = [node.info[f"slave{number}"] for number in range(count)]
    behind = sum(lags(line) for line in lines)
    if behind:
        return warning(
            f"{behind} of {count} are not online or more than {BEHIND} seconds behind",
            "look at their log and at the network between: a failover now would lose jobs",
        )
    return ok(f"{count}, all up to date")


def lags(line: str) -> bool:
    """Whether a replica, as INFO shows it, is behind."""
    said = dict(part.partition("=")[::2] for part in line.split(","))
    return said.get("state") != "online" or int(said.get("lag", 0)) > BEHIND


def clock(node: Node) -> Finding:
    """How far apart the clocks are; nothing depends on it."""
    apart = node.time() - time.time()
    side = "ahead of" if apart > 0 else "behind"
    return ok(f"{span(abs(apart))} {side} this machine's; only the server's counts")


def latency(node: Node) -> Finding:
    """How long an answer takes."""
    taken = node.round_trips(ROUND_TRIPS)
    return distance(median(taken), taken[-1])


def distance(usual: float, worst: float) -> Finding:
    """What a round trip of so many seconds means."""
    what = f"a round trip takes {span(usual)}, at worst {span(worst)}"
    if usual < FAR:
        return ok(what)
    return warning(what, "run workers nearer to the server, or pop and complete many jobs at once")


def slow_scripts(node: Node) -> Finding:
    """What has kept the server busy for long."""
    return slowness(node.ask("SLOWLOG", "GET", str(SLOWLOG)))


def slowness(entries: Iterable[Sequence[Any]]) -> Finding:
    """What the slow log means."""
    names = {LIBRARY[op].sha.encode(): op for op in operations()}
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
    return warning(
        what, "give our operations fewer jobs a call, and keep slow commands of others away"
    )


def _slow_name(words: Sequence[bytes], names: dict[bytes, str]) -> str:
    """Only the command: arguments are somebody's data."""
    command = words[0].decode(errors="replace").upper()
    if command != "EVALSHA":
        return command
    op = names.get(words[1]) if len(words) > 1 else None
    return f"Headrace's {op}" if op else "a script of others, or of another version,"


def connections(node: Node) -> Finding:
    """Whether more clients can come."""
    return crowd(node.number("connected_clients"), node.number("maxclients"))


def crowd(clients: int, most: int) -> Finding:
    """What a number of connections means."""
    what = f"{clients} of {most}"
    if most and clients >= NEARLY_ALL * most:
        advice = "raise maxclients and the server's open file limit, or use fewer processes"
        return problem(what, advice) if clients >= 0.95 * most else warning(what, advice)
    return ok(what)


def clients(node: Node) -> Finding:
    """Which libraries, in which versions, are connected."""
    return libraries(node.ask("CLIENT", "LIST").decode(errors="replace"))


def libraries(listed: str) -> Finding:
    """What CLIENT LIST tells of libraries."""
    found: dict[str, int] = {}
    for line in listed.splitlines():
        said = dict(part.partition("=")[::2] for part in line.split(" "))
        name = f"{said.get('lib-name', '')} {said.get('lib-ver', '')}".strip() or "no name"
        found[name] = found.get(name, 0) + 1
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return ok(", ".join(f"{name}: {times}" for name, times in ranked[:5]))


CHECKS: tuple[tuple[str, Callable[[Node], Finding]], ...] = (
    ("server", version),
    ("eviction", eviction),
    ("memory", memory),
    ("durability", durability),
    ("disk", disk),
    ("replicas", replicas),
    ("clock", clock),
    ("latency", latency),
    ("slow scripts", slow_scripts),
    ("connections", connections),
    ("clients", clients),
)
