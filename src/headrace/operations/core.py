"""The state that the objects of one client share: namespace, shards, codec, limits, transport."""

from __future__ import annotations

import time
from copy import copy
from typing import Any, Self
from uuid import uuid4

from headrace.codecs.codec import Codec, binds
from headrace.engine import check
from headrace.engine.call import Call
from headrace.engine.check import Durability, Limits
from headrace.engine.script import Library
from headrace.engine.shard import prefix, shard_of
from headrace.operations.held_leases import HeldLeases

# If a server refuses to load functions, the client runs scripts for this many seconds. After that
# time, the client tries functions again.
SCRIPTS_FOR = 60.0
# The largest age of the first attempt of a repeated call, in seconds.
LONGEST_RETRY = 10.0**9


class Core:
    """One client's view of a namespace.

    The transport is a Transport for a Client and an AsyncTransport for an AsyncClient.
    """

    def __init__(
        self,
        transport: Any,
        namespace: str,
        *,
        codec: Codec,
        limits: Limits,
        library: Library,
        retry_for: float,
        timeout: float,
        durability: Durability = 0,
        actor: str = "",
    ) -> None:
        self.transport = transport
        self.namespace = namespace
        self.codec = codec
        self.binds = binds(codec)
        self.limits = limits
        self.library = library
        self.retry_for = retry_for
        self.timeout = timeout
        self.durability = durability
        self.actor = actor
        # The durabilities that the servers are known to support.
        self.supported: set[Durability] = set()
        self.next_shard = 0
        # The shards that did not answer the last pop.
        self.unreachable: set[int] = set()
        self.held_leases: list[HeldLeases] = []
        self.instance = uuid4().hex
        self._scripts_until = 0.0
        self.use_shards(1)

    def with_durability(self, durability: Durability | None) -> Self:
        """Return a view with this durability for puts and outcomes; None keeps the current one."""
        if durability is None:
            return self
        other = copy(self)
        other.durability = check.durability(durability)
        return other

    def use_shards(self, shards: int) -> None:
        """Set the number of shards."""
        self.shards = shards
        self._prefixes = [prefix(self.namespace, shard).encode() for shard in range(shards)]

    def shard_of(self, job_id: str) -> int:
        """Return the shard of a job."""
        return 0 if self.shards == 1 else shard_of(job_id, self.shards)

    def channel(self, shard: int, role: str, name: str) -> tuple[int, str]:
        """Return the shard and full name of a channel; `headrace.engine.keys` lists the roles."""
        return shard, f"{prefix(self.namespace, shard)}{role}:{name}"

    def key(self, shard: int, name: str) -> str:
        """Return the full key for a key name on a shard; `headrace.engine.keys` lists the names."""
        return f"{prefix(self.namespace, shard)}{name}"

    def words(self, shard: int, call: Call[Any], *, again: bool = False) -> tuple[Any, ...]:
        """Return the Redis command that makes a call on a shard.

        `again` tells the server that an earlier attempt of this call may have been carried out. The
        server recognizes a call that has a ticket in any case.
        """
        operation = self.library.operations[call.op]
        key = self._prefixes[shard]
        ticket = call.ticket or (self._repeated() if again else b"0")
        if self._scripts_until and time.monotonic() < self._scripts_until:
            word, sha = (
                b"EVALSHA_RO" if operation.script.read_only else b"EVALSHA",
                operation.script.sha,
            )
            return (word, sha, b"1", key, ticket, *call.args, call.op)
        word = b"FCALL_RO" if operation.script.read_only else b"FCALL"
        return (word, operation.function, b"1", key, ticket, *call.args)

    def _repeated(self) -> bytes:
        """Return the ticket of a repeated call: the most milliseconds since the first attempt.

        The last attempt begins within `retry_for`. The server may carry out each attempt late.
        """
        seconds = min(self.retry_for + 2 * self.timeout, LONGEST_RETRY)
        return str(int(1000 * seconds) + 1).encode()

    def use_scripts(self) -> None:
        """Run the library as a script for SCRIPTS_FOR seconds, after a server refused functions."""
        self._scripts_until = time.monotonic() + SCRIPTS_FOR

    def use_functions(self) -> None:
        """Run the library as functions again."""
        self._scripts_until = 0.0

    @property
    def uses_scripts(self) -> bool:
        """Whether calls run the library as a script."""
        return time.monotonic() < self._scripts_until
