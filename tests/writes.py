"""A write from Spark whose driver dies right after the decision."""

from __future__ import annotations

from collections.abc import Sequence

from headrace import Client
from headrace.client.staging import Staging
from headrace.client.talk import drive
from headrace.client.talks import writing
from headrace.client.talks.putting import Item


def write_and_die(hr: Client, rows: Sequence[Item], queue: str = "mail") -> str:
    """Stages and decides rows as the write w; the bundle that nobody publishes."""
    core = hr.core
    staging = Staging(core, "parcel")
    drive(core.wire, staging.add(rows))
    parcel = drive(core.wire, staging.end(0))
    write = writing.batch_write("w", queue, "move")
    bundle = drive(core.wire, writing.decide(core, write, [parcel]))
    assert bundle is not None
    return bundle


def was_long_ago(hr: Client) -> None:
    """Lets the time be over in which whoever publishes may be silent."""
    core = hr.core
    for shard in range(core.shards):
        [bundles] = core.wire.send([(shard, ("ZRANGE", core.key(shard, "transactions"), 0, -1))])
        core.wire.send([(shard, ("ZADD", core.key(shard, "transactions"), 0, *bundles))])
