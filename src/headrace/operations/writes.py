"""Writes from Spark: a two-phase commit over the shards, then publishing.

The staged attempts of a write form a transaction. The Spark driver prepares the transaction on
every shard that has rows of the write. The driver then commits the transaction on the coordinator:
the shard that the write's name selects. Before the commit no row is visible; after the commit every
row becomes a job. If the driver dies, any client can finish the write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from headrace.engine.call import Call, build, is_refusal
from headrace.engine.check import text, whole
from headrace.engine.timestamps import moment
from headrace.errors import StagedLost, WriteAborted, WriteIdTaken, WriteLost
from headrace.operations.batches import chunks
from headrace.operations.core import Core
from headrace.operations.protocols import ClientLike
from headrace.operations.queues import text_map
from headrace.operations.requests import ask, ask_all, ask_one, unchanged
from headrace.operations.staging import (
    NO_BATCH,
    SparkWrite,
    StagedAttempt,
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
    """Return the status of a write from Spark by its writeId, or None if the writeId is unknown.

    With stream=True, `write_id` is the id of a streaming query, and the call returns the status of
    the newest batch of that query. The server stores the status for 7 days after the commit.

    Raises InvalidArgument if `write_id` is malformed.

        write = client.writes.get("letters-2026-11-18")
        print("not committed" if write is None else write.rows)
    """
    longest = client.core.limits.name
    text("write_id", write_id, longest)
    name = stream_name(write_id) if stream else write_name(write_id)
    entry, _ = yield from _read_entry(client.core, name, "")
    return _status(name, entry) if entry else None


def writes(client: ClientLike, *, count: int = 20) -> Operation[list[WriteStatus]]:
    """Return the most recent writes made by Spark, including batches of streams, newest first.

    Raises InvalidArgument if `count` is not from 1 to 1,000.
    """
    core = client.core
    whole("count", count, 1, 1000)
    call = build("list_writes", list, count=count)
    found: list[WriteStatus] = []
    for listed in (yield from ask_all(core, call)):
        found += [_status(name.decode(), text_map(pairs)) for name, pairs in listed]
    return sorted(found, key=lambda write: write.committed_at, reverse=True)[:count]


def _status(name: str, entry: Entry) -> WriteStatus:
    kind, _, write_id = name.partition(":")
    lost = (part.partition("=") for part in entry.get("lost", "").split())
    return WriteStatus(
        id=write_id,
        batch=int(entry["batch"]) if kind == "stream" else None,
        queue=entry["queue"],
        rows=int(entry["rows"]),
        committed_at=moment(int(entry["committed_at"])),
        published_at=moment(int(published)) if (published := entry.get("published_at")) else None,
        made=int(entry.get("made", 0)),
        moved=int(entry.get("moved", 0)),
        replaced=int(entry.get("replaced", 0)),
        skipped=int(entry.get("skipped", 0)),
        lost={int(shard): int(rows) for shard, _, rows in lost},
    )


def commit(
    core: Core, write: SparkWrite, attempts: Sequence[StagedAttempt]
) -> Operation[str | None]:
    """Commit a write that consists of these attempts, and return the transaction to publish.

    If an earlier call committed the write, drop these attempts and return the earlier transaction,
    or None if that transaction is already published. Raises WriteIdTaken, WriteAborted, StagedLost
    or WriteLost.
    """
    transaction = transaction_id(write, attempts)
    entry, _ = yield from _read_entry(core, write.name, transaction)
    if not entry or int(entry["batch"]) < write.batch:
        yield from _prepare(core, write, transaction, attempts)
        entry = yield from _commit_on_coordinator(core, write, transaction, attempts)
    if entry["transaction"] != transaction:
        yield from abort(core, write, attempts)
    if entry["queue"] != write.queue:
        raise WriteIdTaken(write.name, entry["queue"])
    if int(entry["batch"]) > write.batch or entry["state"] == "published":
        # Do not raise WriteLost for a batch of a stream: the stream could not write the batch again
        # under another id.
        if write.batch == NO_BATCH:
            check_complete(_status(write.name, entry))
        return None
    return entry["transaction"]


def _read_entry(core: Core, name: str, transaction: str) -> Operation[tuple[Entry, str]]:
    call = build("write_state", list, write=name, transaction=transaction)
    entry, state = yield from ask_one(core, core.shard_of(name), call)
    return text_map(entry), state.decode()


def _prepare(
    core: Core, write: SparkWrite, transaction: str, attempts: Sequence[StagedAttempt]
) -> Operation[None]:
    # Prepare on the coordinator first: to recover a transaction, a client asks only the coordinator
    # whether the transaction is prepared or committed.
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
    for part in chunks(rows, ATTEMPTS_PER_CALL) or [[]]:
        call = build(
            "prepare",
            unchanged,
            part,
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
        unchanged,
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
    """Publish the rows of a committed transaction on one shard, and count the results."""
    call: Call[Any] = build("publish", unchanged, transaction=transaction)
    calls = [(shard, call)] * PUBLISHES_AT_ONCE
    counts: RowCounts = (0, 0, 0, 0)
    while True:
        for reply in (yield from ask(core, calls)):
            if is_refusal(reply):
                raise WriteAborted(name)
            more, made, moved, replaced, skipped = (int(value or 0) for value in reply)
            counts = max(counts, (made, moved, replaced, skipped), key=sum)
            if not more:
                return counts


def finalize(
    core: Core, name: str, transaction: str, counted: Sequence[RowCounts]
) -> Operation[WriteStatus]:
    """Record in the commit log that the transaction is published, with the counts of each shard.

    Raises WriteLost if the commit log has no such transaction.
    """
    rows = [(str(shard), *counts) for shard, counts in enumerate(counted)]
    call = build("finalize", text_map, rows, write=name, transaction=transaction)
    coordinator = core.shard_of(name)
    entry = yield from ask_one(core, coordinator, call)
    others = [shard for shard in range(core.shards) if shard != coordinator]
    yield from ask(core, [(shard, call) for shard in others])
    if not entry or (entry["transaction"], entry["state"]) == (transaction, "committed"):
        raise WriteLost(name)
    return _status(name, entry)


def check_complete(written: WriteStatus) -> None:
    """Raise WriteLost if shards have lost rows of a write."""
    if written.lost:
        raise WriteLost(written.id, written.rows, written.lost)


def publish_and_finalize(core: Core, name: str, transaction: str) -> Operation[WriteStatus]:
    """Publish a committed transaction on all shards, then finalize the transaction."""
    counted: list[RowCounts] = []
    for shard in range(core.shards):
        counted += [(yield from publish_on(core, name, shard, transaction))]
    return (yield from finalize(core, name, transaction, counted))


def abort(core: Core, write: SparkWrite, attempts: Sequence[StagedAttempt]) -> Operation[bool]:
    """Drop the staged rows; return False, and drop nothing, if the transaction is committed."""
    if not attempts:
        # Do not abort a write without rows: all writes with this name and no rows have the same
        # transaction, and another client may commit that transaction.
        return True
    transaction = transaction_id(write, attempts)
    coordinator = core.shard_of(write.name)
    if not (yield from _discard_on(core, coordinator, write.name, transaction, attempts)):
        return False
    for shard in range(core.shards):
        if shard != coordinator:
            yield from _discard_on(core, shard, write.name, transaction, attempts)
    return True


def _discard_on(
    core: Core, shard: int, name: str, transaction: str, attempts: Sequence[StagedAttempt] = ()
) -> Operation[bool]:
    is_coordinator = shard == core.shard_of(name)
    rows = [(attempt.name,) for attempt in attempts if attempt.chunks.get(shard)]
    for part in chunks(rows, ATTEMPTS_PER_CALL) or [[]]:
        call = build(
            "discard", unchanged, part, transaction=transaction, coordinator=int(is_coordinator)
        )
        while not (answer := (yield from ask_one(core, shard, call))):
            pass
        if is_refusal(answer):
            return False
    return True


def recover_transactions(core: Core) -> Operation[list[WriteStatus]]:
    """Finish the transactions whose driver died, and return the writes that were published.

    Committed transactions are published and finalized. Prepared transactions that are too old are
    aborted.
    """
    call: Call[list[Any]] = build("open_transactions", list, count=TRANSACTIONS_LISTED)
    listed = yield from ask_all(core, call)
    # Every shard that has rows of a transaction lists the transaction, so the same transaction may
    # be listed several times.
    finished: dict[str, WriteStatus | None] = {}
    for shard, transactions in enumerate(listed):
        for transaction, name in (map(bytes.decode, pair) for pair in transactions):
            if not finished.get(transaction):
                finished[transaction] = yield from _recover(core, shard, transaction, name)
    return [written for written in finished.values() if written]


def _recover(core: Core, shard: int, transaction: str, name: str) -> Operation[WriteStatus | None]:
    coordinator = core.shard_of(name)
    _, state = yield from _read_entry(core, name, transaction)
    if state == "prepared":
        aborted = yield from _discard_on(core, coordinator, name, transaction)
        state = "aborted" if aborted else "committed"
    if state in ("committed", "published"):
        return (yield from publish_and_finalize(core, name, transaction))
    if shard != coordinator:
        yield from _discard_on(core, shard, name, transaction)
    return None


def stream_write(query_id: str, batch: int, queue: str, on_exists: str) -> SparkWrite:
    """Return the SparkWrite that describes one batch of a stream."""
    return SparkWrite(stream_name(query_id), queue, batch, on_exists)


def batch_write(write_id: str, queue: str, on_exists: str) -> SparkWrite:
    """Return the SparkWrite that describes the write of a DataFrame."""
    return SparkWrite(write_name(write_id), queue, NO_BATCH, on_exists)
