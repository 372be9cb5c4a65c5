"""A write from Spark whose driver dies right after the decision."""

from __future__ import annotations

from collections.abc import Sequence

from headrace import Client
from headrace.operations import writes
from headrace.operations.putting import Item
from headrace.operations.staging import Staging
from headrace.transport.drive import drive


def write_and_die(hr: Client, rows: Sequence[Item], queue: str = "mail") -> str:
    """Stage and decide rows as the write w; return the bundle, which is not published."""
    core = hr.core
    staging = Staging(core, "parcel")
    drive(core.transport, staging.add(rows))
    parcel = drive(core.transport, staging.end(0))
    write = writes.batch_write("w", queue, "move")
    bundle = drive(core.transport, writes.decide(core, write, [parcel]))
    assert bundle is not None
    return bundle


def was_long_ago(hr: Client) -> None:
    """Let the time expire in which the driver is expected to publish."""
    core = hr.core
    for shard in range(core.shards):
        [bundles] = core.transport.send(
            [(shard, ("ZRANGE", core.key(shard, "transactions"), 0, -1))]
        )
        core.transport.send([(shard, ("ZADD", core.key(shard, "transactions"), 0, *bundles))])
