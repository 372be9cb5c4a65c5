"""A write from Spark whose driver dies right after the commit."""

from __future__ import annotations

from collections.abc import Sequence

from headrace import Client
from headrace.operations import writes
from headrace.operations.putting import Item
from headrace.operations.staging import Staging
from headrace.transport.drive import drive


def write_and_die(hr: Client, rows: Sequence[Item], queue: str = "mail") -> str:
    """Stage and commit rows as the write w, and return the transaction without publishing it."""
    core = hr.core
    staging = Staging(core, "attempt")
    drive(core.transport, staging.add(rows))
    attempt = drive(core.transport, staging.end(0))
    write = writes.batch_write("w", queue, "move")
    transaction = drive(core.transport, writes.commit(core, write, [attempt]))
    assert transaction is not None
    return transaction


def was_long_ago(hr: Client) -> None:
    """Make all transactions look abandoned, as if their driver had made no call for too long."""
    core = hr.core
    for shard in range(core.shards):
        [transactions] = core.transport.send(
            [(shard, ("ZRANGE", core.key(shard, "transactions"), 0, -1))]
        )
        core.transport.send([(shard, ("ZADD", core.key(shard, "transactions"), 0, *transactions))])
