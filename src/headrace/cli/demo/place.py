"""Where a demo takes place: the embedded server, and a namespace that no other demo uses now."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO

from redis import Redis, RedisError

from headrace.local_server import embedded

NAMESPACE = "demo-shop"
NAMESPACE_VARIABLE = "HEADRACE_DEMO"
AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Place:
    """A server and an empty namespace on it, ours as long as the lock is held."""

    directory: Path
    url: str
    namespace: str
    lock: IO[bytes]

    @property
    def lake(self) -> Path:
        """Where the history goes."""
        return self.directory / f"{self.namespace}-lake"

    @property
    def picture(self) -> Path:
        """A drawing of it."""
        return self.directory / f"{self.namespace}.png"

    def environment(self) -> dict[str, str]:
        """What tells the app of the demo where it is."""
        return {"HEADRACE_URL": self.url, NAMESPACE_VARIABLE: self.namespace}


@contextmanager
def opened(directory: Path) -> Iterator[Place]:
    """The place of a demo. The server goes on afterwards, for who wants to look around.

    A demo that is cut short stops the server again if it has started it, and nobody uses it.
    """
    ran_before = embedded.status(directory) is not None
    try:
        url = embedded.start(directory)
        with _free_namespace(directory) as (namespace, lock):
            place = Place(directory, url, namespace, lock)
            _empty(place)
            yield place
    except BaseException:
        if not ran_before and not _is_used(directory):
            embedded.stop(directory)
        raise


@contextmanager
def _free_namespace(directory: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """The first name that nobody has locked: neither a demo nor a worker that outlived one."""
    for number in count(1):
        name = NAMESPACE if number == 1 else f"{NAMESPACE}-{number}"
        with (directory / f"{name}.lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield name, lock
            return


def _empty(place: Place) -> None:
    """Removes what an earlier demo has left; nothing but demos uses this namespace."""
    shutil.rmtree(place.lake, ignore_errors=True)
    with Redis.from_url(place.url) as server:
        keys = []
        for key in server.scan_iter(match=f"hr:{{{place.namespace}:*", count=AT_ONCE):
            keys.append(key)
            if len(keys) == AT_ONCE:
                server.unlink(*keys)
                keys = []
        if keys:
            server.unlink(*keys)


def _is_used(directory: Path) -> bool:
    status = embedded.status(directory)
    if status is None:
        return False
    with suppress(RedisError), Redis.from_url(status.url) as server:
        return int(server.info("clients")["connected_clients"]) > 1
    return False
