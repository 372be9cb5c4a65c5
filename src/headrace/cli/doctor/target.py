"""The objects that the checks examine: the nodes of a server, and a namespace."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from statistics import median
from typing import Any

from redis.exceptions import NoPermissionError, ResponseError

from headrace.client.client import Client
from headrace.engine import keys
from headrace.engine.check import PAGE
from headrace.operations.core import Core
from headrace.operations.namespace_snapshot import (
    NamespaceSnapshot,
    parse_info,
    read_time,
    snapshot,
)
from headrace.operations.requests import raw, refusal_error, unavailable_error
from headrace.operations.values import Counts, Worker
from headrace.transport.drive import drive
from headrace.transport.topology import ONE, Address
from headrace.transport.transport import Unreachable

# An ACL can allow individual subcommands of these commands.
_WITH_SUBCOMMANDS = ("CONFIG", "CLIENT", "SLOWLOG")
# The checks examine at most this many queues.
MAX_QUEUES = 100_000


class CommandRefused(Exception):
    """The server lacks a command, or the user is not permitted to run it."""

    def __init__(self, words: tuple[str, ...], *, known: bool) -> None:
        parts = words[: 2 if words[0] in _WITH_SUBCOMMANDS else 1]
        super().__init__(" ".join(parts))
        self.command = " ".join(parts)
        self.advice = (
            f"allow the command with ACL SETUSER <user> +{'|'.join(parts).lower()}"
            if known
            else "the server does not offer the command; see the tools of its provider"
        )


class ServerNode:
    """One node of the server. All checks share one reply to INFO."""

    def __init__(self, core: Core, address: Address) -> None:
        self.name = "" if address == ONE else f"{address[0]}:{address[1]}"
        self._transport = core.transport
        self._address = address

    def ask(self, *words: str) -> Any:
        """Return the reply to a command. Raises CommandRefused if the command is not permitted."""
        [reply] = self._transport.exchange(self._address, [words])
        if isinstance(reply, NoPermissionError):
            raise CommandRefused(words, known=True)
        if isinstance(reply, ResponseError) and "unknown command" in str(reply).lower():
            raise CommandRefused(words, known=False)
        if isinstance(reply, (Unreachable, OSError)):
            raise unavailable_error(reply, maybe_done=False)
        if isinstance(reply, Exception):
            raise refusal_error(reply)
        return reply

    @cached_property
    def info(self) -> Mapping[str, str]:
        """The fields of INFO."""
        return parse_info(self.ask("INFO"))

    def number(self, name: str) -> int:
        """Return a numeric field of INFO, or 0 if INFO does not have the field."""
        return int(self.info.get(name, 0))

    def setting(self, name: str) -> str:
        """Return a configuration setting of the server."""
        _, value = self.ask("CONFIG", "GET", name)
        return str(value.decode())

    def time(self) -> float:
        """Return the server's clock in seconds since 1970."""
        return read_time(self.ask("TIME")) / 1000

    def round_trip(self, times: int) -> tuple[float, float]:
        """Measure PING and return the median and the longest duration in seconds."""
        taken = []
        for _ in range(times):
            start = time.perf_counter()
            self.ask("PING")
            taken.append(time.perf_counter() - start)
        return median(taken), max(taken)


def nodes_of(core: Core) -> list[ServerNode]:
    """Return every node once, even if a node has two addresses."""
    found: dict[str, ServerNode] = {}
    for address in core.transport.nodes():
        node = ServerNode(core, address)
        try:
            found.setdefault(node.info["run_id"], node)
        except Exception:  # noqa: BLE001 - the checks of this node report the error
            found[node.name] = node
    return list(found.values())


class NamespaceTarget:
    """The namespace that is examined. All checks share one snapshot."""

    def __init__(self, core: Core, *, remove_libraries: bool) -> None:
        self.core = core
        self.hr = Client(core)
        self.remove_libraries = remove_libraries

    @cached_property
    def snapshot(self) -> NamespaceSnapshot:
        """A snapshot of all queues, without the statistics of the day."""
        return drive(self.core.transport, snapshot(self.core, count=MAX_QUEUES, detailed=()))

    @property
    def now(self) -> float:
        """The server's clock, in milliseconds since 1970."""
        return self.snapshot.at

    @cached_property
    def queues(self) -> dict[str, Counts]:
        """The job counts of every queue."""
        return {name: queue.counts for name, queue in self.snapshot.queues.items()}

    @cached_property
    def workers(self) -> list[Worker]:
        """The workers that have a session."""
        return self.hr.workers.list(count=PAGE)

    def ask(self, word: str, state: str, names: Iterable[str], *rest: float | str) -> list[Any]:
        """Run a read command on the jobs of these queues, and return the replies.

        The command reads only the jobs that are in `state`.
        """
        commands: list[tuple[int, tuple[Any, ...]]] = [
            (shard, (word, self.core.key(shard, keys.in_state(state, name)), *rest))
            for name in names
            for shard in range(self.core.shards)
        ]
        return drive(self.core.transport, raw(self.core, commands)) if commands else []
