"""A sync that is killed repeatedly while events happen and the log is trimmed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

import headrace
from headrace import Client
from headrace.engine.events import Event
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.operations.event_log import events as read_events
from headrace.operations.event_log import logs
from headrace.operations.lakes import mark_lake
from headrace.spark.options import ServerAddress
from headrace.spark.pipeline import sync
from headrace.transport.drive import drive
from tests.spark.support.lakes import expect_equal, expect_proof

KILLS = 20
BATCH = 400
EVENTS = 50 * BATCH
LONGEST_LIFE = 2.0


class Reader(threading.Thread):
    """Reads the whole log. The server trims only events that this reader has read."""

    def __init__(self, hr: Client) -> None:
        super().__init__()
        self._hr = hr
        self.events: list[Event] = []
        self.seen: dict[int, str] = {}
        self.stopping = threading.Event()
        drive(
            hr.core.transport, mark_lake(hr, "reader", dict.fromkeys(range(hr.core.shards), "0-0"))
        )

    def run(self) -> None:
        while not (self._read() == 0 and self.stopping.is_set()):
            self.stopping.wait(0.05)

    def _read(self) -> int:
        operation = read_events(self._hr, after=self.seen, count=1000)
        found = drive(self._hr.core.transport, operation)
        self.events += found
        self.seen |= {event.shard: event.entry_id for event in found}
        if found:
            drive(self._hr.core.transport, mark_lake(self._hr, "reader", self.seen))
        return len(found)


class Producer(threading.Thread):
    """Creates a few events at a time while syncs run, and at least `wanted` events in total."""

    def __init__(self, hr: Client) -> None:
        super().__init__()
        self._hr = hr
        self.stopping = threading.Event()
        self.made = 0

    def run(self) -> None:
        while self.made < EVENTS or not self.stopping.is_set():
            queue = self._hr.queue(f"queue-{self.made % 3}")
            queue.put_many([{"n": n} for n in range(40)])
            self._hr.leases.complete(queue.pop("ada", count=40))
            self.made += 120
            self.stopping.wait(0.2 if self.made < EVENTS else 1.0)


@contextmanager
def a_life_of_sync(url: str, namespace: str, place: Path) -> Iterator[subprocess.Popen[str]]:
    command: list[str | Path] = [
        Path(sys.executable).with_name("headrace"),
        "lake",
        "sync",
        "--to",
        place,
    ]
    process = subprocess.Popen(
        [*command, "--follow", "--interval", "10ms", "--batch", str(BATCH), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"HEADRACE_URL": url, "HEADRACE_NAMESPACE": namespace},
        start_new_session=True,
    )
    with process:
        yield process
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_lake_equals_log_after_sync_is_killed_repeatedly(
    spark: SparkSession, valkey_url: str, tmp_path: Path
) -> None:
    place = tmp_path / "lake"
    chance = random.Random(os.environ.get("HEADRACE_SEED"))
    with headrace.connect(valkey_url, namespace=uuid4().hex, shards=2) as hr:
        hr.config.set("events_count", 100)
        hr.config.set("events_age", 1)
        server = ServerAddress(url=valkey_url, namespace=hr.core.namespace)
        # Create the lake first, because the server may trim events before a lake exists.
        assert list(sync(spark, server, LocalFiles(place))) == []
        reader, producer = Reader(hr), Producer(hr)
        reader.start()
        producer.start()
        try:
            for _ in range(KILLS):
                with a_life_of_sync(valkey_url, hr.core.namespace, place) as life:
                    assert life.stdout is not None
                    assert life.stdout.readline(), "the sync exited before it was killed"
                    with pytest.raises(subprocess.TimeoutExpired):
                        life.wait(chance.uniform(0, LONGEST_LIFE))
                expect_proof(hr, Lake.open(LocalFiles(place)))
        finally:
            producer.stopping.set()
            producer.join()
            reader.stopping.set()
            reader.join()
        lake = Lake.open(LocalFiles(place))
        commits = lake.snapshot().number
        list(sync(spark, server, lake.files))
        assert commits >= KILLS
        assert len(reader.events) >= EVENTS
        assert lake.snapshot().missing == 0
        expect_equal(spark, lake, reader.events)
        expect_proof(hr, lake)
        [first, second] = drive(hr.core.transport, logs(hr.core))
        assert first.trimmed > 0 < second.trimmed
        assert (first.dropped, second.dropped) == (0, 0)
