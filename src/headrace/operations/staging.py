"""Stage the rows of a Spark task on the shards, in chunks that publish.lua reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from headrace.engine.call import build, is_refusal, pack
from headrace.errors import StagedLost
from headrace.operations.core import Core
from headrace.operations.putting import Item
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
    """Return the name of a DataFrame write in the commit log."""
    return f"batch:{write_id}"


def stream_name(query_id: str) -> str:
    """Return the name of a streaming query's writes in the commit log."""
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
        if self.core.shards == 1:
            self.rows[0] += len(items)
            self._waiting.setdefault(0, []).extend(items)
        else:
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
            parts = list(_cut(items))
            self._waiting[shard] = [] if last else parts.pop() if parts else []
            for chunks in _calls([packed_chunk(part) for part in parts]):
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
    others = None
    if any(len(item) == 4 for item in items):
        others = [(item[2], item[3] or None) if len(item) == 4 else ("", None) for item in items]
    head = pack(([item[0] for item in items], [len(payload) for payload in payloads], others))
    return head + b"".join(payloads)


def _cut(items: list[Item]) -> Iterator[list[Item]]:
    """Split rows into chunks that are each published in one step; the last chunk may be smaller."""
    start = size = 0
    for at, item in enumerate(items):
        if at > start and (at - start == CHUNK_JOBS or size + len(item[1]) > CHUNK_BYTES):
            yield items[start:at]
            start, size = at, 0
        size += len(item[1])
    if start < len(items):
        yield items[start:]


def _calls(chunks: list[bytes]) -> Iterator[list[bytes]]:
    """Divide chunks into groups of up to CALL_BYTES bytes; one call stages one group."""
    some: list[bytes] = []
    size = 0
    for chunk in chunks:
        if some and size + len(chunk) > CALL_BYTES:
            yield some
            some, size = [], 0
        some.append(chunk)
        size += len(chunk)
    if some:
        yield some
