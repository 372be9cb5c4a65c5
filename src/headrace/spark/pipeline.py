"""The pipeline: events from the logs of a server into a lake, each exactly once.

A batch is a span of every log. Its files are written to a folder of their own, read back and
counted, and made to count by one manifest; only then is the server told that it may trim these
events. Whoever dies in between leaves files that do not count, and the next one begins where the
last manifest ends.
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
from headrace.lake import replays
from headrace.lake.batches import begin, end, sweep
from headrace.lake.files import Files
from headrace.lake.lake import Lake, LakeMoved
from headrace.lake.lock import Lock, held
from headrace.lake.manifest import DataFile, Snapshot, Span
from headrace.lake.opening import open_lake
from headrace.operations.event_log import LogEnds, log_ends
from headrace.operations.lakes import mark_lake
from headrace.spark import plan
from headrace.spark.batch_files import write_batch
from headrace.spark.counted import checked, data_files
from headrace.spark.events import bounded
from headrace.spark.options import Server
from headrace.spark.stored import lake_events, own_session
from headrace.transport.drive import drive

__all__ = ["BATCH", "INTERVAL", "Batch", "follow", "lake_events", "sync"]

BATCH = 500_000
INTERVAL = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a commit brought. missing: events that were dropped unread; behind: those to come."""

    number: int
    events: int
    missing: int
    files: int
    bytes: int
    seconds: float
    behind: int


def sync(
    spark: SparkSession, server: Server, files: Files, *, batch: int = BATCH
) -> Iterator[Batch]:
    """Brings what has happened up to now into the lake, which is made if there is none.

    A batch is made when it is asked for; who asks no more loses nothing.
    """
    with _run(spark, server, files, batch) as run:
        yield from run.batches()


def follow(
    spark: SparkSession,
    server: Server,
    files: Files,
    *,
    stopping: threading.Event,
    interval: float = INTERVAL,
    batch: int = BATCH,
) -> Iterator[Batch]:
    """Brings what happens into the lake, every so many seconds, until stopping is set."""
    with _run(spark, server, files, batch) as run:
        while not stopping.is_set():
            for done in run.batches():
                yield done
                if stopping.is_set():
                    return
            if run.behind() < batch:
                stopping.wait(interval)


@contextmanager
def _run(spark: SparkSession, server: Server, files: Files, batch: int) -> Iterator[_Run]:
    whole("batch", batch, 1, 10**9)
    server = server.settled()
    with server.open() as client, held(files, "sync") as lock:
        lake = open_lake(files, client)
        sweep(lake)
        replays.sweep(lake)
        yield _Run(own_session(spark), server, client, lake, lock, batch)


@dataclass(slots=True)
class _Run:
    """A run of sync or follow."""

    spark: SparkSession
    server: Server
    client: Client
    lake: Lake
    lock: Lock
    most: int

    def batches(self) -> Iterator[Batch]:
        """Batches until the lake has all that had happened at the beginning."""
        snapshot = self.lake.snapshot()
        # Also a word to the server that nothing more is to go which this lake has not.
        self._mark(snapshot)
        target = plan.newest(self._ends())
        while any(plan.spans_between(snapshot.offsets, target)):
            began = time.monotonic()
            spans = self._next_spans(snapshot, target)
            snapshot, files, spans = self._take(snapshot, spans)
            yield Batch(
                number=snapshot.number,
                events=sum(span.numbers for span in spans),
                missing=sum(span.missing for span in spans),
                files=len(files),
                bytes=sum(file.bytes for file in files),
                seconds=time.monotonic() - began,
                behind=_distance(snapshot, target),
            )

    def behind(self) -> int:
        """How many events the lake has yet to take."""
        self.lock.renew()
        return _distance(self.lake.snapshot(), plan.newest(self._ends()))

    def _next_spans(self, snapshot: Snapshot, target: plan.Offsets) -> list[Span]:
        wanted = plan.spans_between(snapshot.offsets, target)
        core = self.client.core
        to = drive(core.transport, bounded(core, wanted, self._ends(), self.most))
        return [
            Span(shard=span.shard, after=span.after, to=to[span.shard])
            for span in wanted
            if to[span.shard] != span.after
        ]

    def _take(
        self, base: Snapshot, spans: Sequence[Span]
    ) -> tuple[Snapshot, list[DataFile], list[Span]]:
        batch = begin(self.lake, base)
        parts = write_batch(self.spark, self.server, self.client, self.lake, batch, spans)
        files, counted = data_files(parts), checked(spans, parts)
        self.lake.files.flush(file.path for file in files)
        snapshot = self._commit(base, batch, counted, files)
        self._mark(snapshot)
        end(self.lake, batch)
        self.lock.renew()
        return snapshot, files, counted

    def _commit(
        self, base: Snapshot, batch: str, spans: Sequence[Span], files: Sequence[DataFile]
    ) -> Snapshot:
        while True:
            try:
                return self.lake.commit(base, batch, spans=spans, added=files)
            except LakeMoved:
                base = self.lake.snapshot()
                # Files may have been compacted in the meantime; these events are still to come.
                if any(base.offsets[span.shard] != span.after for span in spans):
                    raise

    def _mark(self, snapshot: Snapshot) -> None:
        operation = mark_lake(self.client, self.lake.identity.id, snapshot.offsets)
        drive(self.client.core.transport, operation)

    def _ends(self) -> list[LogEnds]:
        return drive(self.client.core.transport, log_ends(self.client.core))


def _distance(snapshot: Snapshot, target: plan.Offsets) -> int:
    spans = plan.spans_between(snapshot.offsets, target)
    return sum(span.last - span.first + 1 for span in spans)
