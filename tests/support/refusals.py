"""Ways to make a running server refuse calls, and to make it accept them again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import redis

from tests.support.servers import redis_server_path, until

BINARIES: dict[str, Path | None] = {"valkey": None}
if redis_server := redis_server_path():
    BINARIES["redis"] = redis_server


@dataclass(frozen=True, slots=True)
class Refusal:
    """A way to make a server refuse calls, and to make it accept them again."""

    name: str
    begin: Callable[[redis.Redis], object]
    end: Callable[[redis.Redis], object]

    def __str__(self) -> str:
        return self.name


def fail_to_save(admin: redis.Redis) -> None:
    """Make the server unable to write its snapshot, so it refuses writes (MISCONF)."""
    snapshot = Path(str(admin.config_get("dir")["dir"])) / "dump.rdb"
    snapshot.mkdir(exist_ok=True)
    (snapshot / "in the way").touch()
    admin.config_set("save", "3600 1000000")
    admin.bgsave()
    until(lambda: admin.info("persistence")["rdb_last_bgsave_status"] == "err", "it cannot save")


MISCONF = Refusal("MISCONF", fail_to_save, lambda admin: admin.config_set("save", ""))
NOREPLICAS = Refusal(
    "NOREPLICAS",
    lambda admin: admin.config_set("min-replicas-to-write", 1),
    lambda admin: admin.config_set("min-replicas-to-write", 0),
)
READONLY = Refusal(
    "READONLY",
    lambda admin: admin.replicaof("127.0.0.1", 1),
    lambda admin: admin.replicaof("NO", "ONE"),
)
FULL = Refusal(
    "full",
    lambda admin: admin.config_set("maxmemory", 1),
    lambda admin: admin.config_set("maxmemory", 0),
)


def run_endless_script(admin: redis.Redis) -> None:
    """Keep the server busy with a script, so it answers every call with BUSY."""
    admin.config_set("busy-reply-threshold", 1)

    def run() -> None:
        with suppress(redis.RedisError):
            admin.eval("while true do end", 0)

    threading.Thread(target=run, daemon=True).start()
    until(lambda: is_busy(admin), "the server is busy")


def is_busy(admin: redis.Redis) -> bool:
    try:
        admin.ping()
    except redis.ResponseError as error:
        return str(error).startswith("BUSY")
    return False


BUSY = Refusal("BUSY", run_endless_script, lambda admin: admin.script_kill())
# A server that refuses writes for these reasons still answers reads.
REFUSALS = [MISCONF, NOREPLICAS, READONLY]


@contextmanager
def refusing(url: str, refusal: Refusal) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url) as admin:
        refusal.begin(admin)
        try:
            yield admin
        finally:
            refusal.end(admin)


def refused(admin: redis.Redis, refusal: Refusal) -> int:
    """Return how often the server has refused a write for this reason."""
    found = admin.info("errorstats")
    return int(found.get(f"errorstat_{refusal.name}", {}).get("count", 0))
