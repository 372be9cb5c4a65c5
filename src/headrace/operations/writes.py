"""Writes from Spark: a two-phase commit over the shards, then publishing.

The staged attempts of a write form a transaction. It is prepared on every shard with rows and then
committed on the coordinator shard, the shard of the write's name. Before the commit no row is
visible; after it every row becomes a job. If the driver dies, any client can finish the write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from headrace.engine.call import Call, build, is_refusal
from headrace.engine.check import text, whole
from headrace.engine.timestamps import moment
from headrace.errors import StagedLost, WriteAborted, WriteIdTaken, WriteLost
from headrace.operations.core import Core
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import text_map
from headrace.operations.requests import ask, ask_one
from headrace.operations.staging import (
    NO_BATCH,
    SparkWrite,
    StagedAttempt,
    bytes_or_int,
    stream_name,
    transaction_id,
    write_name,
)
from headrace.operations.values import WriteStatus
from headrace.transport.drive import Operation

ATTEMPTS_PER_CALL = 250
PUBLISHES_AT_ONCE = 4
TRANSACTIONS_LISTED = 100
Entry = dict[str, str]
RowCounts = tuple[int, int, int, int]


def written(
    client: ClientLike, write_id: str, *, stream: bool = False
) -> Operation[WriteStatus | None]:
    """Return the status of a write from Spark by its writeId, or None if it is unknown.

    With stream=True, write_id is the id of a streaming query, and the status is that of its newest
    batch. The server knows a write from its commit on, for 7 days.
    """
    longest = client.core.limits.name
    text("write_id", write_id, longest)
    name = stream_name(write_id) if stream else write_name(write_id)
    entry, _ = yield from _read_entry(client.core, name, "")
    return _status(name, entry) if entry else None


def writes(client: ClientLike, *, count: int = 20) -> Operation[list[WriteStatus]]:
    """Return the newest writes from Spark, including batches of streams, newest first."""
    core = client.core
    whole("count", count, 1, 1000)
    call = build("list_writes", list, count=count)
    found: list[WriteStatus] = []
    for listed in (yield from ask(core, [(shard, call) for shard in range(core.shards)])):
        found += [_status(name.decode(), text_map(pairs)) for name, pairs in listed]
    return sorted(found, key=lambda write: write.committed_at, reverse=True)[:count]


def _status(name: str, entry: Entry) -> WriteStatus:
    kind, _, write_id = name.partition(":")
    return WriteStatus(
        id=write_id,
        batch=int(entry["batch"]) if kind == "stream" else None,
        queue=entry["queue"],
        rows=int(entry["rows"]),
        committed_at=moment(int(entry["committed_at"])),
        published_at=_moment_of(entry.get("published_at")),
        made=int(entry.get("made", 0)),
        moved=int(entry.get("moved", 0)),
        replaced=int(entry.get("replaced", 0)),
        skipped=int(entry.get("skipped", 0)),
        lost=_by_shard(entry.get("lost", "")),
    )


def _by_shard(stored: str) -> dict[int, int]:
    pairs = (part.partition("=") for part in stored.split())
    return {int(shard): int(rows) for shard, _, rows in pairs}


def _moment_of(stored: str | None) -> datetime | None:
    return moment(int(stored)) if stored else None


def commit(
    core: Core, write: SparkWrite, attempts: Sequence[StagedAttempt]
) -> Operation[str | None]:
    """Commit a write that consists of these attempts, and return the transaction to publish.

    If the write was committed before, drop these attempts and return the earlier transaction, or
    None if it is published. Raises WriteIdTaken, WriteAborted, StagedLost or WriteLost.
    """
    transaction = transaction_id(write, attempts)
    entry, _ = yield from _read_entry(core, write.name, transaction)
    if not _is_committed(entry, write):
        yield from _prepare(core, write, transaction, attempts)
        entry = yield from _commit_on_coordinator(core, write, transaction, attempts)
    if entry["transaction"] != transaction:
        yield from abort(core, write, attempts)
    if entry["queue"] != write.queue:
        raise WriteIdTaken(write.name, entry["queue"])
    if int(entry["batch"]) > write.batch or entry["state"] == "published":
        # A stream must go on: it cannot write a batch again under another id.
        if write.batch == NO_BATCH:
            check_complete(_status(write.name, entry))
        return None
    return entry["transaction"]


def _is_committed(entry: Entry, write: SparkWrite) -> bool:
    return bool(entry) and int(entry["batch"]) >= write.batch


def _read_entry(core: Core, name: str, transaction: str) -> Operation[tuple[Entry, str]]:
    call = build("write_state", list, write=name, transaction=transaction)
    entry, state = yield from ask_one(core, core.shard_of(name), call)
    return text_map(entry), state.decode()


def _prepare(
    core: Core, write: SparkWrite, transaction: str, attempts: Sequence[StagedAttempt]
) -> Operation[None]:
    # First on the coordinator: other shards with a prepared transaction ask it for the outcome.
    coordinator = core.shard_of(write.name)
    yield from _prepare_on(core, coordinator, write, transaction, attempts)
    for shard in range(core.shards):
        if shard != coordinator and any(attempt.chunks.get(shard) for attempt in attempts):
            yield from _prepare_on(core, shard, write, transaction, attempts)


def _prepare_on(
    core: Core, shard: int, write: SparkWrite, transaction: str, attempts: Sequence[StagedAttempt]
) -> Operation[None]:
    rows = [
        (attempt.name, attempt.order, attempt.chunks[shard])
        for attempt in attempts
        if attempt.chunks.get(shard)
    ]
    for first in range(0, max(1, len(rows)), ATTEMPTS_PER_CALL):
        call = build(
            "prepare",
            bytes_or_int,
            rows[first : first + ATTEMPTS_PER_CALL],
            transaction=transaction,
            write=write.name,
            queue=write.queue,
            on_exists=write.on_exists,
            coordinator=int(shard == core.shard_of(write.name)),
        )
        answer = yield from ask_one(core, shard, call)
        if is_refusal(answer):
            raise _refusal(write, answer)


def _refusal(write: SparkWrite, answer: Any) -> WriteAborted | StagedLost:
    return WriteAborted(write.name) if answer == b"WRITE_ABORTED" else StagedLost()


def _commit_on_coordinator(
    core: Core, write: SparkWrite, transaction: str, attempts: Sequence[StagedAttempt]
) -> Operation[Entry]:
    rows = sum((Counter(attempt.rows) for attempt in attempts), Counter[int]())
    call = build(
        "commit",
        lambda reply: reply,
        write=write.name,
        batch=write.batch,
        transaction=transaction,
        queue=write.queue,
        rows=rows.total(),
        parts=" ".join(f"{shard}={count}" for shard, count in sorted(rows.items())),
    )
    answer = yield from ask_one(core, core.shard_of(write.name), call)
    if is_refusal(answer):
        raise _refusal(write, answer)
    return text_map(answer[1])


def publish_on(core: Core, name: str, shard: int, transaction: str) -> Operation[RowCounts]:
    """Publish the rows that a shard has of a committed transaction, and count the results."""
    call: Call[Any] = build("publish", lambda reply: reply, transaction=transaction)
    calls = [(shard, call)] * PUBLISHES_AT_ONCE
    counts: RowCounts = (0, 0, 0, 0)
    while True:
        for reply in (yield from ask(core, calls)):
            if is_refusal(reply):
                raise WriteAborted(name)
            more, counted = _progress(reply)
            counts = max(counts, counted, key=sum)
            if not more:
                return counts


def _progress(reply: Any) -> tuple[bool, RowCounts]:
    more, made, moved, replaced, skipped = (int(value or 0) for value in reply)
    return bool(more), (made, moved, replaced, skipped)


def finalize(
    core: Core, name: str, transaction: str, counted: Sequence[RowCounts]
) -> Operation[WriteStatus]:
    """Mark the transaction as published in the commit log, with the counts of each shard.

    Raises WriteLost if the commit log has no such transaction.
    """
    rows = [(str(shard), *counts) for shard, counts in enumerate(counted)]
    call = build("finalize", text_map, rows, write=name, transaction=transaction)
    coordinator = core.shard_of(name)
    entry = yield from ask_one(core, coordinator, call)
    if core.shards > 1:
        yield from ask(
            core, [(shard, call) for shard in range(core.shards) if shard != coordinator]
        )
    if not entry or (entry["transaction"], entry["state"]) == (transaction, "committed"):
        raise WriteLost(name)
    return _status(name, entry)


def check_complete(written: WriteStatus) -> None:
    """Raise WriteLost if shards have lost rows of a write."""
    if written.lost:
        raise WriteLost(written.id, written.rows, written.lost)


def publish_and_finalize(core: Core, name: str, transaction: str) -> Operation[WriteStatus]:
    """Publish a committed transaction on all shards and finalize it."""
    counted: list[RowCounts] = []
    for shard in range(core.shards):
        counted += [(yield from publish_on(core, name, shard, transaction))]
    return (yield from finalize(core, name, transaction, counted))


def abort(core: Core, write: SparkWrite, attempts: Sequence[StagedAttempt]) -> Operation[bool]:
    """Drop what was staged. Return False, and drop nothing, if the transaction is committed."""
    if not attempts:
        # All writes of this name without rows are the same transaction, which another may commit.
        return True
    transaction = transaction_id(write, attempts)
    coordinator = core.shard_of(write.name)
    if not (yield from _discard_on(core, coordinator, transaction, attempts, is_coordinator=True)):
        return False
    for shard in range(core.shards):
        if shard != coordinator:
            yield from _discard_on(core, shard, transaction, attempts, is_coordinator=False)
    return True


def _discard_on(
    core: Core,
    shard: int,
    transaction: str,
    attempts: Sequence[StagedAttempt],
    *,
    is_coordinator: bool,
) -> Operation[bool]:
    rows = [(attempt.name,) for attempt in attempts if attempt.chunks.get(shard)]
    for first in range(0, max(1, len(rows)), ATTEMPTS_PER_CALL):
        part = rows[first : first + ATTEMPTS_PER_CALL]
        call = build(
            "discard", bytes_or_int, part, transaction=transaction, coordinator=int(is_coordinator)
        )
        while not (answer := (yield from ask_one(core, shard, call))):
            pass
        if is_refusal(answer):
            return False
    return True


def recover_transactions(core: Core) -> Operation[list[WriteStatus]]:
    """Finish the transactions whose driver died, and return the writes that were published.

    Committed transactions are published and finalized. Prepared ones that are too old are aborted.
    """
    call: Call[list[Any]] = build("open_transactions", list, count=TRANSACTIONS_LISTED)
    listed = yield from ask(core, [(shard, call) for shard in range(core.shards)])
    # Each shard of a transaction lists it.
    finished: dict[str, WriteStatus | None] = {}
    for shard, transactions in enumerate(listed):
        for transaction, name in (
            (transaction.decode(), name.decode()) for transaction, name in transactions
        ):
            if not finished.get(transaction):
                finished[transaction] = yield from _recover(core, shard, transaction, name)
    return [written for written in finished.values() if written]


def _recover(core: Core, shard: int, transaction: str, name: str) -> Operation[WriteStatus | None]:
    coordinator = core.shard_of(name)
    _, state = yield from _read_entry(core, name, transaction)
    if state == "prepared":
        aborted = yield from _discard_on(core, coordinator, transaction, (), is_coordinator=True)
        state = "aborted" if aborted else "committed"
    if state in ("committed", "published"):
        return (yield from publish_and_finalize(core, name, transaction))
    if shard != coordinator:
        yield from _discard_on(core, shard, transaction, (), is_coordinator=False)
    return None


def stream_write(query_id: str, batch: int, queue: str, on_exists: str) -> SparkWrite:
    """Return the write of one batch of a stream."""
    return SparkWrite(stream_name(query_id), queue, batch, on_exists)


def batch_write(write_id: str, queue: str, on_exists: str) -> SparkWrite:
    """Return the write of a DataFrame."""
    return SparkWrite(write_name(write_id), queue, NO_BATCH, on_exists)
