"""Stage the rows of a Spark task on the shards, in chunks that publish.lua reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from headrace.engine.call import build, is_refusal, pack
from headrace.errors import StagedLost
from headrace.operations.batches import chunks_by_size
from headrace.operations.core import Core
from headrace.operations.putting import Item, spare_and_options
from headrace.operations.requests import ask_one, unchanged
from headrace.transport.drive import Operation

CHUNK_JOBS = 250
CHUNK_BYTES = 1 << 18
CALL_BYTES = 1 << 21
# The batch number of a write that is not part of a stream.
NO_BATCH = -1


@dataclass(frozen=True, slots=True)
class SparkWrite:
    """One write into a queue: the rows of a DataFrame, or of one batch of a stream."""

    name: str
    queue: str
    batch: int = NO_BATCH
    on_exists: str = ""


@dataclass(frozen=True, slots=True)
class StagedAttempt:
    """The numbers of rows and chunks that one attempt of a task has staged on each shard."""

    name: str
    order: int
    rows: dict[int, int]
    chunks: dict[int, int]


def write_name(write_id: str) -> str:
    """Return the name under which the commit log lists a DataFrame write."""
    return f"batch:{write_id}"


def stream_name(query_id: str) -> str:
    """Return the name under which the commit log lists the writes of a streaming query."""
    return f"stream:{query_id}"


def transaction_id(write: SparkWrite, attempts: Iterable[StagedAttempt]) -> str:
    """Return the id of a transaction: a hash of the write, the batch and the attempts' names."""
    names = [write.name, str(write.batch), *sorted(attempt.name for attempt in attempts)]
    return blake2b("\0".join(names).encode(), digest_size=16).hexdigest()


@dataclass(slots=True)
class Staging:
    """Stages the rows of one attempt; rows that do not fill a chunk stay in memory until `end`."""

    core: Core
    name: str
    rows: Counter[int] = field(default_factory=Counter)
    chunks: dict[int, int] = field(default_factory=dict)
    _waiting: dict[int, list[Item]] = field(default_factory=dict)

    def add(self, items: Sequence[Item]) -> Operation[None]:
        """Add each row to the shard of the row's id, and stage the full chunks."""
        for item in items:
            shard = self.core.shard_of(item[0])
            self.rows[shard] += 1
            self._waiting.setdefault(shard, []).append(item)
        yield from self._stage(last=False)

    def end(self, order: int) -> Operation[StagedAttempt]:
        """Stage the remaining rows and return the finished attempt."""
        yield from self._stage(last=True)
        return StagedAttempt(self.name, order, dict(self.rows), self.chunks)

    def _stage(self, *, last: bool) -> Operation[None]:
        for shard, items in self._waiting.items():
            parts = list(chunks_by_size(items, _payload_size, CHUNK_BYTES, count=CHUNK_JOBS))
            # The last part may not be full. Other rows can be added to this part later.
            self._waiting[shard] = [] if last else parts.pop() if parts else []
            for chunks in chunks_by_size(map(packed_chunk, parts), len, CALL_BYTES):
                yield from self._send(shard, chunks)

    def _send(self, shard: int, chunks: list[bytes]) -> Operation[None]:
        position = self.chunks.get(shard, 0)
        rows = [(chunk,) for chunk in chunks]
        call = build("stage", unchanged, rows, attempt=self.name, position=position)
        answer = yield from ask_one(self.core, shard, call)
        if is_refusal(answer):
            raise StagedLost
        self.chunks[shard] = position + len(chunks)


def packed_chunk(items: Sequence[Item]) -> bytes:
    """Pack rows into one chunk; payloads stay unpacked, because Lua's msgpack has no bytes type."""
    payloads = [item[1] for item in items]
    others = list(map(spare_and_options, items)) if any(len(item) == 4 for item in items) else None
    head = pack(([item[0] for item in items], [len(payload) for payload in payloads], others))
    return head + b"".join(payloads)


def _payload_size(item: Item) -> int:
    return len(item[1])
