"""Sync events from the logs of a server into a lake, each event exactly once.

A batch has a range of events from the log of each shard. The files of a batch are written to a new
folder, read back and verified. One manifest then commits the files. The server may trim the events
only after this commit. A crash before the commit leaves only unreferenced files, and the next sync
starts where the last manifest ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from headrace.client.client import Client
from headrace.engine.check import whole
from headrace.lake.batch_lifecycle import begin, end, sweep
from headrace.lake.files import Files
from headrace.lake.lake import Lake, LakeMoved, open_lake
from headrace.lake.lock import LakeLock, held
from headrace.lake.manifest import DataFile, LakeSnapshot, LogRange
from headrace.operations.event_log import ShardLog, logs
from headrace.operations.lakes import mark_lake
from headrace.spark import offsets, replay
from headrace.spark.batch_files import data_files, verified, write_batch
from headrace.spark.events import bounded
from headrace.spark.lake_events import writing_session
from headrace.spark.options import ServerAddress
from headrace.transport.drive import drive

BATCH = 500_000
INTERVAL = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedBatch:
    """A committed batch.

    `missing` is the number of events that were trimmed before sync read them. `behind` is the
    number of events that are still to be synced.
    """

    number: int
    events: int
    missing: int
    files: int
    bytes: int
    seconds: float
    behind: int


def sync(
    spark: SparkSession, server: ServerAddress, files: Files, *, batch: int = BATCH
) -> Iterator[SyncedBatch]:
    """Sync all events up to now into the lake. Create the lake if it does not exist.

    Yield each batch after its commit. The next batch starts when the caller requests the next item.
    A caller may stop after any batch without losing events. Raises LakeBusy if another sync is
    running, and LakeRefused if the lake belongs to another namespace.

        for batch in sync(spark, ServerAddress(), LocalFiles("lake")):
            print(batch.events, "events")
    """
    with _sync_run(spark, server, files, batch) as run:
        yield from run.batches()


def follow(
    spark: SparkSession,
    server: ServerAddress,
    files: Files,
    *,
    stopping: threading.Event,
    interval: float = INTERVAL,
    batch: int = BATCH,
) -> Iterator[SyncedBatch]:
    """Run `sync`, and repeat it every `interval` seconds until `stopping` is set."""
    with _sync_run(spark, server, files, batch) as run:
        while not stopping.is_set():
            for done in run.batches():
                yield done
                if stopping.is_set():
                    return
            if run.behind() < batch:
                stopping.wait(interval)


@contextmanager
def _sync_run(
    spark: SparkSession, server: ServerAddress, files: Files, batch: int
) -> Iterator[_SyncRun]:
    whole("batch", batch, 1, 10**9)
    server = server.settled()
    with server.open() as client, held(files, "sync") as lock:
        lake = open_lake(files, client)
        sweep(lake)
        replay.sweep(lake)
        yield _SyncRun(writing_session(spark), server, client, lake, lock, batch)


@dataclass(slots=True)
class _SyncRun:
    """A run of sync or follow."""

    spark: SparkSession
    server: ServerAddress
    client: Client
    lake: Lake
    lock: LakeLock
    most: int

    def batches(self) -> Iterator[SyncedBatch]:
        """Sync and yield batches until the lake has all events logged before this call."""
        snapshot = self.lake.snapshot()
        # The mark also registers the lake, so that the server keeps events that the lake lacks.
        self._mark(snapshot)
        target = offsets.newest(self._ends())
        while any(offsets.ranges_between(snapshot.offsets, target)):
            began = time.monotonic()
            ranges = self._next_ranges(snapshot, target)
            snapshot, files, ranges = self._sync(snapshot, ranges)
            yield SyncedBatch(
                number=snapshot.number,
                events=sum(each.size for each in ranges),
                missing=sum(each.missing for each in ranges),
                files=len(files),
                bytes=sum(file.bytes for file in files),
                seconds=time.monotonic() - began,
                behind=_distance(snapshot, target),
            )

    def behind(self) -> int:
        """Return the number of logged events that are not in the lake yet."""
        self.lock.renew()
        return _distance(self.lake.snapshot(), offsets.newest(self._ends()))

    def _next_ranges(self, snapshot: LakeSnapshot, target: offsets.Offsets) -> list[LogRange]:
        wanted = offsets.ranges_between(snapshot.offsets, target)
        core = self.client.core
        to = drive(core.transport, bounded(core, wanted, self._ends(), self.most))
        return [
            LogRange(shard=each.shard, after=each.after, to=to[each.shard])
            for each in wanted
            if to[each.shard] != each.after
        ]

    def _sync(
        self, base: LakeSnapshot, ranges: Sequence[LogRange]
    ) -> tuple[LakeSnapshot, list[DataFile], list[LogRange]]:
        batch = begin(self.lake, base)
        parts = write_batch(self.spark, self.server, self.client, self.lake, batch, ranges)
        files, found = data_files(parts), verified(ranges, parts)
        self.lake.files.flush(file.path for file in files)
        snapshot = self._commit(base, batch, found, files)
        self._mark(snapshot)
        end(self.lake, batch)
        self.lock.renew()
        return snapshot, files, found

    def _commit(
        self, base: LakeSnapshot, batch: str, ranges: Sequence[LogRange], files: Sequence[DataFile]
    ) -> LakeSnapshot:
        while True:
            try:
                return self.lake.commit(base, batch, ranges=ranges, added=files)
            except LakeMoved:
                base = self.lake.snapshot()
                # Another process has committed. If the offsets are unchanged, that process was a
                # compaction, so retry the commit.
                if any(base.offsets[each.shard] != each.after for each in ranges):
                    raise

    def _mark(self, snapshot: LakeSnapshot) -> None:
        operation = mark_lake(self.client, self.lake.identity.id, snapshot.offsets)
        drive(self.client.core.transport, operation)

    def _ends(self) -> list[ShardLog]:
        return drive(self.client.core.transport, logs(self.client.core))


def _distance(snapshot: LakeSnapshot, target: offsets.Offsets) -> int:
    return sum(each.size for each in offsets.ranges_between(snapshot.offsets, target))
