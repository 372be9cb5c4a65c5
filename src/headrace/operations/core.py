"""The state that the objects of one client share: namespace, shards, codec, limits, transport."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from headrace.codecs.codec import Codec
from headrace.engine.call import Call
from headrace.engine.check import Limits
from headrace.engine.script import Library
from headrace.engine.shard import prefix, shard_of
from headrace.operations.held_leases import HeldLeases

# Remembered fast paths, one per queue and shard. At this number all are forgotten.
FAST_PATHS_KEPT = 10_000


@dataclass(slots=True)
class FastPath:
    """The script that puts a job without options on one shard, and when to try it again."""

    op: str = "put_one"
    not_before: float = 0.0


class Core:
    """One client's view of a namespace.

    The transport is a Transport for a Client and an AsyncTransport for an AsyncClient.
    """

    __slots__ = (
        "_fast_paths",
        "_prefixes",
        "_shas",
        "codec",
        "held_leases",
        "instance",
        "library",
        "limits",
        "namespace",
        "next_shard",
        "retry_for",
        "shards",
        "timeout",
        "transport",
    )

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
    ) -> None:
        self.transport = transport
        self.namespace = namespace
        self.codec = codec
        self.limits = limits
        self.library = library
        self.retry_for = retry_for
        self.timeout = timeout
        self.next_shard = 0
        self.held_leases: list[HeldLeases] = []
        self._fast_paths: dict[tuple[int, str], FastPath] = {}
        self.instance = uuid4().hex
        self._shas: dict[str, bytes] = {}
        self.use_shards(1)

    def use_shards(self, shards: int) -> None:
        """Set the number of shards."""
        self.shards = shards
        self._prefixes = [prefix(self.namespace, shard).encode() for shard in range(shards)]

    def shard_of(self, job_id: str) -> int:
        """Return the shard of a job."""
        return 0 if self.shards == 1 else shard_of(job_id, self.shards)

    def fast_path(self, shard: int, queue: str) -> FastPath:
        """Return the remembered fast path of a queue on a shard."""
        path = self._fast_paths.get((shard, queue))
        if path is None:
            if len(self._fast_paths) >= FAST_PATHS_KEPT:
                self._fast_paths.clear()
            path = self._fast_paths[shard, queue] = FastPath()
        return path

    def channel(self, shard: int, role: str, name: str) -> tuple[int, str]:
        """Return a channel for notices with its shard; roles are in `headrace.engine.keys`."""
        return shard, f"{prefix(self.namespace, shard)}{role}:{name}"

    def key(self, shard: int, name: str) -> str:
        """Return the full key for a key name of a shard; `headrace.engine.keys` has the names."""
        return f"{prefix(self.namespace, shard)}{name}"

    def words(self, shard: int, call: Call[Any], *, again: bool = False) -> tuple[Any, ...]:
        """Return the EVALSHA command of a call on a shard.

        `again` tells the script that an earlier attempt of this call may have been carried out.
        """
        sha = self._shas.get(call.op)
        if sha is None:
            sha = self._shas[call.op] = self.library[call.op].sha.encode()
        return (b"EVALSHA", sha, b"1", self._prefixes[shard], b"1" if again else b"0", *call.args)
