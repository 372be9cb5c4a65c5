"""Tests that call the readers of events directly, in the way that Spark calls a reader."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

import headrace
from headrace import Client, EventsTrimmed, NamespaceMismatch, Put
from headrace.lake.event_columns import EVENTS
from headrace.operations.event_log import logs
from headrace.spark import events
from headrace.spark.events import EventsReader, EventsStreamReader
from headrace.spark.offsets import newest, ranges_between
from headrace.spark.options import EventsBatchOptions, EventsStreamOptions
from headrace.testing import Clock, open_with_clock
from headrace.testing.clock import settable_clock
from headrace.transport.drive import drive


@pytest.fixture
def four(valkey_url: str) -> Iterator[Client]:
    """Return a client on a new namespace with four shards."""
    client, _ = open_with_clock(valkey_url, shards=4)
    with client:
        yield client


def place(url: str, client: Client, **options: object) -> dict[str, str]:
    given = {name: str(value) for name, value in options.items()}
    return {"url": url, "namespace": client.core.namespace, **given}


def batch_reader(url: str, client: Client, **options: object) -> EventsReader:
    return EventsReader(EventsBatchOptions.read(place(url, client, **options)).settled())


def stream_reader(url: str, client: Client, **options: object) -> EventsStreamReader:
    return EventsStreamReader(EventsStreamOptions.read(place(url, client, **options)).settled())


def rows_of(
    reader: EventsReader | EventsStreamReader, parts: list[InputPartition]
) -> list[dict[str, Any]]:
    """Return the rows that tasks would read, each with its own copy of the reader."""
    if isinstance(reader, EventsStreamReader):
        # Spark pickles a reader that has not been used.
        reader = EventsStreamReader(reader._options)
    sent = pickle.dumps(reader)
    batches = [batch for part in parts for batch in pickle.loads(sent).read(part)]  # noqa: S301
    return list(pa.Table.from_batches(batches, EVENTS).to_pylist())


def read(reader: EventsReader) -> list[dict[str, Any]]:
    return rows_of(reader, list(reader.partitions()))


def numbers(rows: list[dict[str, Any]]) -> list[int]:
    return [row["number"] for row in rows]


def trim(client: Client, first_kept: int) -> None:
    kept = next(event for event in client.events() if event.number == first_kept)
    command = ("XTRIM", client.core.key(0, "events"), "MINID", "=", kept.entry_id)
    client.core.transport.send([(0, command)])


def one_a_second(hr: Client, clock: Clock, count: int) -> None:
    for number in range(count):
        clock.tick(1)
        hr.queue("mail" if number % 2 else "reports").put(number)


# Batches


def test_empty_log_has_no_partitions_and_no_rows(valkey_url: str, hr: Client) -> None:
    reader = batch_reader(valkey_url, hr)
    assert list(reader.partitions()) == []
    assert list(reader.read(InputPartition(None))) == []


def test_since_limits_the_range_and_the_rows(valkey_url: str, hr: Client) -> None:
    clock = Clock(hr)
    one_a_second(hr, clock, 10)
    # The tenth event happens now. The seventh event happened three seconds ago.
    since = clock.now - timedelta(seconds=3)
    reader = batch_reader(valkey_url, hr, since=since.isoformat())
    [part] = reader.partitions()
    assert (part.value.first, part.value.last) == (7, 10)
    assert numbers(rows_of(reader, [part])) == [7, 8, 9, 10]
    later = (clock.now + timedelta(days=1)).isoformat()
    assert list(batch_reader(valkey_url, hr, since=later).partitions()) == []


def test_since_compares_time_of_event_after_clock_was_set_back(valkey_url: str, hr: Client) -> None:
    clock = Clock(hr)
    hr.queue("mail").put(1)
    then = clock.now
    clock.tick(-60)
    hr.queue("mail").put(2)
    earlier = then - timedelta(seconds=60)
    assert numbers(read(batch_reader(valkey_url, hr, since=earlier.isoformat()))) == [1, 2]
    assert numbers(read(batch_reader(valkey_url, hr, since=then.isoformat()))) == [1]


def test_options_queue_and_kind_select_rows(valkey_url: str, hr: Client) -> None:
    one_a_second(hr, Clock(hr), 6)
    hr.queue("mail").pop("worker-1")
    assert numbers(read(batch_reader(valkey_url, hr, queue="mail", kind="put"))) == [2, 4, 6]
    assert numbers(read(batch_reader(valkey_url, hr, queue="mail"))) == [2, 4, 6, 7]
    assert numbers(read(batch_reader(valkey_url, hr, kind="popped"))) == [7]
    assert read(batch_reader(valkey_url, hr, queue="unknown")) == []


def test_large_payloads_are_read_as_bytes(valkey_url: str, hr: Client) -> None:
    hr.queue("mail").configure(event_data=1 << 20)
    payloads = [bytes(range(256)), b"\x00", b"", *([b"\xff" * 900_000] * 20)]
    with headrace.connect(valkey_url, namespace=hr.core.namespace, codec="raw") as raw:
        raw.queue("mail").put_many(payloads)
    found = read(batch_reader(valkey_url, hr))
    assert [row["data"] for row in found if row["kind"] == "put"] == payloads


def test_pages_grow_and_are_contiguous(
    valkey_url: str, hr: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "FIRST_PAGE", 3)
    hr.queue("mail").put_many(list(range(300)))
    reader = batch_reader(valkey_url, hr, eventsPerPartition=150)
    parts = list(reader.partitions())
    assert len(parts) == 2
    sizes = [[batch.num_rows for batch in reader.read(part)] for part in parts]
    assert [(each[0], sum(each)) for each in sizes] == [(3, 150), (3, 150)]
    assert numbers(rows_of(reader, parts)) == list(range(1, 301))


# Trimmed events


def test_trimmed_events_raise_or_become_gap_row(valkey_url: str, hr: Client) -> None:
    one_a_second(hr, Clock(hr), 20)
    trim(hr, 9)
    assert numbers(read(batch_reader(valkey_url, hr))) == list(range(9, 21))
    start = json.dumps({"0": "0-0"})
    with pytest.raises(EventsTrimmed, match="8 events of shard 0, from number 1 on") as caught:
        batch_reader(valkey_url, hr, startingOffsets=start).partitions()
    assert (caught.value.shard, caught.value.first, caught.value.missing) == (0, 1, 8)
    going_on = {"startingOffsets": start, "failOnDataLoss": "false", "eventsPerPartition": 5}
    rows = read(batch_reader(valkey_url, hr, **going_on))
    assert numbers(rows) == [1, *range(9, 21)]
    assert [row["missing"] for row in rows[:2]] == [8, None]
    assert (rows[0]["kind"], rows[0]["at"], rows[0]["queue"]) == ("gap", rows[1]["at"], "")
    only_mail = batch_reader(valkey_url, hr, queue="mail", **going_on)
    assert numbers(read(only_mail)) == list(range(10, 21, 2))


def test_trim_between_planning_and_reading_is_noticed(valkey_url: str, hr: Client) -> None:
    one_a_second(hr, Clock(hr), 20)
    strict = batch_reader(valkey_url, hr)
    lenient = batch_reader(valkey_url, hr, failOnDataLoss="false", eventsPerPartition=10)
    [part] = strict.partitions()
    first, second = lenient.partitions()
    trim(hr, 13)
    with pytest.raises(EventsTrimmed, match="12 events of shard 0"):
        list(strict.read(part))
    [gone] = rows_of(lenient, [first])
    assert (gone["number"], gone["missing"]) == (1, 10)
    rest = rows_of(lenient, [second])
    assert [(row["number"], row["missing"]) for row in rest[:2]] == [(11, 2), (13, None)]


def test_since_after_trimmed_events_does_not_raise(valkey_url: str, hr: Client) -> None:
    clock = Clock(hr)
    one_a_second(hr, clock, 20)
    trim(hr, 11)
    start = json.dumps({"0": "0-0"})
    recent = (clock.now - timedelta(seconds=4)).isoformat()
    reader = batch_reader(valkey_url, hr, since=recent, startingOffsets=start)
    assert numbers(read(reader)) == list(range(16, 21))
    older = (clock.now - timedelta(seconds=15)).isoformat()
    with pytest.raises(EventsTrimmed):
        batch_reader(valkey_url, hr, since=older, startingOffsets=start).partitions()


# Streams


def fill(client: Client, sizes: dict[int, int]) -> None:
    ids: dict[int, list[str]] = {shard: [] for shard in sizes}
    for number in range(10_000):
        mine = ids.get(client.core.shard_of(f"job-{number}"))
        if mine is not None:
            mine.append(f"job-{number}")
    jobs = [Put(0, id=job_id) for shard, size in sizes.items() for job_id in ids[shard][:size]]
    client.queue("mail").put_many(jobs)


def reached(offset: dict[str, str]) -> list[int]:
    return [int(entry_id.partition("-")[2]) for entry_id in offset.values()]


def test_stream_step_is_shared_fairly_over_shards(valkey_url: str, four: Client) -> None:
    fill(four, {0: 5, 1: 30, 3: 9})
    reader = stream_reader(valkey_url, four, maxEventsPerTrigger=20)
    assert reader.getDefaultReadLimit() == ReadMaxRows(20)
    steps = [reader.initialOffset()]
    while len(steps) == 1 or steps[-1] != steps[-2]:
        steps.append(reader.latestOffset(steps[-1], ReadMaxRows(20)))
    assert list(map(reached, steps)) == [
        [0, 0, 0, 0],
        [5, 8, 0, 7],
        [5, 26, 0, 9],
        [5, 30, 0, 9],
        [5, 30, 0, 9],
    ]
    assert list(steps[1]) == ["0", "1", "2", "3"]
    found = rows_of(reader, list(reader.partitions(steps[0], steps[2])))
    assert len(found) == 40
    assert found == rows_of(reader, list(reader.partitions(steps[0], steps[2])))
    assert list(reader.partitions(steps[3], steps[4])) == []
    reader.stop()


def test_stream_without_limit_reads_all_in_one_step(valkey_url: str, four: Client) -> None:
    fill(four, {1: 30})
    reader = stream_reader(valkey_url, four)
    assert reader.getDefaultReadLimit() == ReadAllAvailable()
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert end == reader.reportLatestOffset()
    assert reached(end) == [0, 30, 0, 0]
    reader.stop()


def test_available_now_ignores_later_events(valkey_url: str, hr: Client) -> None:
    hr.queue("mail").put_many([1, 2, 3])
    reader = stream_reader(valkey_url, hr)
    reader.prepareForTriggerAvailableNow()
    hr.queue("mail").put_many([4, 5])
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert reached(end) == [3]
    assert reader.latestOffset(end, ReadMaxRows(7)) == end
    reader.stop()


def test_stream_from_latest_reads_only_new_events(valkey_url: str, hr: Client) -> None:
    hr.queue("mail").put_many([1, 2, 3])
    reader = stream_reader(valkey_url, hr, startingOffsets="latest")
    start = reader.initialOffset()
    hr.queue("mail").put(4)
    end = reader.latestOffset(start, ReadAllAvailable())
    assert numbers(rows_of(reader, list(reader.partitions(start, end)))) == [4]
    reader.stop()


def test_offset_without_some_shards_continues_with_all_shards(
    valkey_url: str, four: Client
) -> None:
    fill(four, {0: 2, 2: 3})
    reader = stream_reader(valkey_url, four)
    end = reader.latestOffset({"0": "0-0"}, ReadAllAvailable())
    assert reached(end) == [2, 0, 3, 0]
    assert len(rows_of(reader, list(reader.partitions({"0": "0-0"}, end)))) == 5
    reader.stop()


def test_stream_on_another_log_raises(valkey_url: str, hr: Client) -> None:
    hr.queue("mail").put(1)
    reader = stream_reader(valkey_url, hr)
    with pytest.raises(NamespaceMismatch, match="this is another log"):
        reader.latestOffset({"0": "1-7"}, ReadAllAvailable())
    reader.stop()


def test_stream_on_longer_other_log_raises(valkey_url: str) -> None:
    client, clock = open_with_clock(valkey_url)
    with client as hr:
        hr.queue("mail").put_many([1, 2, 3])
        reader = stream_reader(valkey_url, hr)
        start = reader.initialOffset()
        read_to = reader.latestOffset(start, ReadAllAvailable())
        shard = hr.core.key(0, "")
        keys = hr.core.transport.send([(0, ("KEYS", f"{shard}*"))])[0]
        hr.core.transport.send([(0, ("DEL", *keys))])
        clock.tick(1)
        restored = headrace.connect(
            valkey_url, namespace=hr.core.namespace, library=settable_clock()
        )
        clock.join(restored)
        with restored:
            restored.queue("mail").put_many([1, 2, 3, 4])
            for limit in (ReadAllAvailable(), ReadMaxRows(1)):
                with pytest.raises(NamespaceMismatch, match="was never in this log"):
                    reader.latestOffset(read_to, limit)
            with pytest.raises(NamespaceMismatch, match="with another checkpoint"):
                reader.partitions(start, read_to)
        reader.stop()


def test_log_emptied_during_planning_keeps_its_end(hr: Client) -> None:
    hr.queue("mail").put_many([1, 2, 3])
    transport = hr.core.transport
    ends = drive(transport, logs(hr.core))
    [span] = ranges_between({}, newest(ends))
    transport.send([(0, ("XTRIM", hr.core.key(0, "events"), "MAXLEN", 0))])
    assert drive(transport, events.bounded(hr.core, [span], ends, 2)) == {0: span.to}


def test_fully_trimmed_log_is_one_gap_row(valkey_url: str, hr: Client) -> None:
    hr.queue("mail").put_many([1, 2, 3])
    reader = stream_reader(valkey_url, hr, failOnDataLoss="false", maxEventsPerTrigger=2)
    start = reader.initialOffset()
    hr.core.transport.send([(0, ("XTRIM", hr.core.key(0, "events"), "MAXLEN", 0))])
    assert reached(reader.initialOffset()) == [3]
    end = reader.latestOffset(start, ReadMaxRows(2))
    [gap] = rows_of(reader, list(reader.partitions(start, end)))
    assert (gap["kind"], gap["number"], gap["missing"]) == ("gap", 1, 3)
    assert reader.latestOffset(end, ReadMaxRows(2)) == end
    reader.stop()
