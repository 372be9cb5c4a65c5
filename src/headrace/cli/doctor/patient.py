"""What the checks look at: the nodes of a server, and a namespace on them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from redis.exceptions import NoPermissionError, ResponseError

from headrace.client.client import Client
from headrace.engine.check import PAGE
from headrace.operations.core import Core
from headrace.operations.requests import raw, refusal_error, unavailable_error
from headrace.operations.values import Counts, Worker
from headrace.transport.drive import drive
from headrace.transport.topology import ONE, Address
from headrace.transport.transport import Unreachable

# Of these an ACL allows one part at a time.
_CONTAINERS = ("CONFIG", "CLIENT", "SLOWLOG")


class MayNot(Exception):
    """The user may not run a command, or the server does not have it."""

    def __init__(self, words: tuple[str, ...], *, known: bool) -> None:
        parts = words[: 2 if words[0] in _CONTAINERS else 1]
        super().__init__(" ".join(parts))
        self.command = " ".join(parts)
        self.advice = (
            f"allow it with ACL SETUSER <user> +{'|'.join(parts).lower()}"
            if known
            else "the server does not offer it: see what its provider shows"
        )


class Node:
    """One server, asked once for whatever several checks want to know."""

    def __init__(self, core: Core, address: Address) -> None:
        self.name = "" if address == ONE else f"{address[0]}:{address[1]}"
        self._wire = core.transport
        self._address = address

    def ask(self, *words: str) -> Any:
        """The answer to a command; MayNot if it is not allowed."""
        [reply] = self._wire.exchange(self._address, [words])
        if isinstance(reply, NoPermissionError):
            raise MayNot(words, known=True)
        if isinstance(reply, ResponseError) and "unknown command" in str(reply).lower():
            raise MayNot(words, known=False)
        if isinstance(reply, (Unreachable, OSError)):
            raise unavailable_error(reply, maybe_done=False)
        if isinstance(reply, Exception):
            raise refusal_error(reply)
        return reply

    @cached_property
    def info(self) -> Mapping[str, str]:
        """What INFO says."""
        return parsed_info(self.ask("INFO"))

    def number(self, name: str) -> int:
        """A number that INFO says, 0 if this server does not say it."""
        return int(self.info.get(name, 0))

    def setting(self, name: str) -> str:
        """A setting of the server."""
        _, value = self.ask("CONFIG", "GET", name)
        return str(value.decode())

    def time(self) -> float:
        """The server's clock, in seconds since 1970."""
        seconds, micros = self.ask("TIME")
        return int(seconds) + int(micros) / 1e6

    def round_trips(self, times: int) -> list[float]:
        """How many seconds an answer takes, sorted."""
        taken = []
        for _ in range(times):
            begins = time.perf_counter()
            self.ask("PING")
            taken.append(time.perf_counter() - begins)
        return sorted(taken)


def parsed_info(text: bytes) -> dict[str, str]:
    """The lines of INFO by name."""
    lines = (line.partition(":") for line in text.decode(errors="replace").splitlines())
    return {name: value for name, colon, value in lines if colon}


def nodes_of(core: Core) -> list[Node]:
    """Every node once, also if it is known by two names."""
    found: dict[str, Node] = {}
    for address in core.transport.nodes():
        node = Node(core, address)
        try:
            found.setdefault(node.info["run_id"], node)
        except Exception:  # noqa: BLE001 - whatever it is, the checks of this node will say it
            found[node.name] = node
    return list(found.values())


class Namespace:
    """The namespace, read once for whatever several checks want to know."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.hr = Client(core)
        self.shards = range(core.shards)

    @cached_property
    def now(self) -> float:
        """The server's clock, in milliseconds since 1970."""
        [[seconds, micros]] = self.read([(0, "TIME")])
        return float(1000 * int(seconds) + int(micros) / 1000)

    @cached_property
    def queues(self) -> dict[str, Counts]:
        """The counts of every queue."""
        found: dict[str, Counts] = {}
        while True:
            page = self.hr.queues(offset=len(found), count=PAGE)
            found |= page
            if len(page) < PAGE:
                return found

    @cached_property
    def workers(self) -> list[Worker]:
        """The workers that have a session."""
        return self.hr.workers.list(count=PAGE)

    def read(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        """The answers to plain commands that only read, each after its shard."""
        return drive(self.core.transport, raw(self.core, [(c[0], c[1:]) for c in commands]))

    def key(self, shard: int, role: str, name: str) -> str:
        """The key of a queue."""
        return self.core.key(shard, f"{role}:{name}")
