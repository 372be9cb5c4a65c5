"""Random histories: the actions of workers and operators on a namespace over some days."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from headrace import Client, HeadraceError, Put
from headrace.client.lease import Lease
from headrace.engine.events import Event, entry_number
from headrace.lake.event_columns import EVENTS
from headrace.lake.event_files import queue_folder
from headrace.lake.files import Files
from headrace.lake.lake import Lake, open_lake
from headrace.lake.manifest import DataFile, LogRange
from headrace.spark.tables import expressions
from headrace.testing import Clock
from tests.model.jobs.checks.imported_jobs import COMPLETE, FAILED, bring, job

QUEUES = ("mail", "resize", "for-good")
WORKERS = ("ada", "grace", "edsger")
TAGS = ("vip", "slow", "nightly")
FAILURES = ("Timeout", "Refused", "Broken")
TICKS = (0, 0.001, 0.5, 7, 61, 300, 900, 5000)


class Chance:
    """Performs random actions. The clock moves by milliseconds or by hours."""

    def __init__(self, hr: Client, clock: Clock, seed: int) -> None:
        self.hr = hr
        self.clock = clock
        self.random = Random(seed)
        self.held: list[Lease] = []
        hr.config.set("events_age", 3650 * 86_400)
        for queue in QUEUES:
            hr.queue(queue).configure(
                "fifo" if queue == "for-good" else "job", stats=True, lease=3600, keep_count=5
            )

    def steps(self, count: int) -> None:
        """Perform `count` random actions. Refused actions are skipped."""
        deeds: list[tuple[Callable[[], object], int]] = [
            (self.put, 8),
            (self.pop, 8),
            (self.complete, 7),
            (self.fail, 4),
            (self.release, 2),
            (self.update, 2),
            (self.disturb, 9),
            (self.session, 1),
        ]
        doing, weights = zip(*deeds, strict=True)
        for deed in self.random.choices(doing, weights, k=count):
            self.clock.tick(self.random.choice(TICKS))
            try:
                deed()
            except HeadraceError:
                continue

    def rare_deeds(self) -> None:
        """Perform rare actions: take a held job away in several ways."""
        hr, mail = self.hr, self.hr.queue("mail")
        session = hr.session("ada", ttl=100_000)
        for take_away in (hr.timeout, hr.requeue, hr.cancel, lambda _id: session.end()):
            mail.put("x", id="held", tags=["vip"], priority=-9)
            hr.tags.remove("held", "vip")
            [lease] = mail.pop("ada")
            self.clock.tick(1)
            take_away(lease.id)
        mail.put("x", id="failing", priority=-10)
        mail.pop("ada")[0].fail("Broken")
        hr.retry("failing")
        later = job("later", "scheduled", since=10**13)
        bring(hr, FAILED, COMPLETE, job("brought", tags=("vip",)), later)

    def queue(self) -> str:
        return self.random.choice(QUEUES)

    def job_id(self) -> str:
        # There are few ids, so that jobs are put again and ids are reused.
        return f"job-{self.random.randrange(12)}"

    def put(self) -> None:
        chance = self.random
        job = Put(
            chance.choice(["x", None, "y" * 5000]),
            id=chance.choice([f"new-{chance.randrange(10**6)}", self.job_id()]),
            priority=chance.choice([0, -1]),
            delay=chance.choice([0, 0, 0, 50]),
            tags=chance.choice([None, None, chance.sample(TAGS, 2)]),
            retries=chance.choice([0, 3]),
            start_within=chance.choice([None, None, None, 5000]),
        )
        policy = chance.choice([None, "replace"])
        self.hr.queue(self.queue()).put_many([job], on_exists=policy)

    def pop(self) -> None:
        queue = self.hr.queue(self.queue())
        self.held += queue.pop(self.random.choice(WORKERS), count=self.random.choice([1, 3]))

    def lease(self) -> Lease:
        if not self.held:
            raise HeadraceError("no worker holds a job")
        return self.held.pop(self.random.randrange(len(self.held)))

    def complete(self) -> None:
        self.lease().complete(
            next=self.random.choice([None, None, "mail", "resize"]), **self.new_data()
        )

    def fail(self) -> None:
        lease, kind = self.lease(), self.random.choice(FAILURES)
        lease.fail(
            kind, f"about {lease.id}", retry_in=self.random.choice([None, 0, 20]), **self.new_data()
        )

    def update(self) -> None:
        self.random.choice(self.held or [self.lease()]).heartbeat(**self.new_data())

    def new_data(self) -> dict[str, Any]:
        chance = self.random
        return chance.choice([{}, {}, {"data": chance.choice(["x", "new", "z" * 20_000])}])

    def release(self) -> None:
        self.lease().release(position=self.random.choice(["front", "back"]))

    def disturb(self) -> None:
        job_id, hr = self.job_id(), self.hr
        deeds: list[Callable[[], object]] = [
            lambda: hr.requeue(job_id, self.queue()),
            lambda: hr.cancel(job_id),
            lambda: hr.retry(job_id),
            lambda: hr.timeout(job_id),
            lambda: hr.fail(job_id, "Operator", "by hand"),
            lambda: hr.tags.add(job_id, "vip"),
            lambda: hr.tags.remove(job_id, "vip", "slow"),
            lambda: hr.prioritise(job_id, 3),
            hr.sweep,
        ]
        self.random.choice(deeds)()

    def session(self) -> None:
        worker = self.random.choice(WORKERS)
        session = self.hr.session(worker, ttl=self.random.choice([1, 100_000]))
        if self.random.random() < 0.5:
            self.held += self.hr.queue("mail").pop(worker)
            session.end()


def all_events(hr: Client) -> list[Event]:
    """Return all events of the log."""
    return list(hr.events())


def arrow_of(events: list[Event]) -> pa.Table:
    """Return events as a table with the columns of the lake."""
    rows = [{name: getattr(event, name, None) for name in EVENTS.names} for event in events]
    return pa.Table.from_pylist(rows, schema=EVENTS)


def frame_of(spark: SparkSession, events: list[Event]) -> DataFrame:
    """Return events as a DataFrame with their day."""
    return spark.createDataFrame(arrow_of(events)).withColumn("day", expressions.day_of())


def lake_of(files: Files, told: Sequence[Event], upto: Mapping[int, int], owner: Client) -> Lake:
    """Create or extend a lake with the events of each shard up to a number."""
    lake = open_lake(files, owner)
    base = lake.snapshot()
    begin = {shard: entry_number(entry) for shard, entry in base.offsets.items()}
    fresh = [event for event in told if begin[event.shard] < event.number <= upto[event.shard]]
    batch = f"{base.number + 1:020}-told"
    added = [
        _file(files, batch, day, queue, [event for event in fresh if _place(event) == (day, queue)])
        for day, queue in sorted({_place(event) for event in fresh})
    ]
    newest = {event.shard: event.entry_id for event in sorted(fresh, key=lambda one: one.number)}
    spans = [
        LogRange(shard=shard, after=base.offsets[shard], to=to) for shard, to in newest.items()
    ]
    lake.commit(base, batch, ranges=spans, added=added)
    return lake


def _place(event: Event) -> tuple[date, str]:
    return event.at.date(), event.queue


def _file(files: Files, batch: str, day: date, queue: str, events: list[Event]) -> DataFile:
    path = f"events/batch={batch}/day={day}/queue={queue_folder(queue)}/part-0.parquet"
    table = arrow_of(events)
    names = ["queue_name" if name == "queue" else name for name in table.column_names]
    into = pa.BufferOutputStream()
    pq.write_table(table.rename_columns(names), into)
    content = into.getvalue().to_pybytes()
    files.create(path, content)
    return DataFile(path=path, day=day, queue=queue, rows=len(events), bytes=len(content))
