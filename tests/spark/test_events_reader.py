"""The readers of events, used as Spark uses them, but without it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    Not,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

import headrace
from headrace import Client, EventsTrimmed, NamespaceMismatch, Put
from headrace.lake.schema import EVENTS
from headrace.operations.event_log import log_ends
from headrace.spark import events
from headrace.spark.events import EventsReader, EventsStreamReader, FilteredEventsReader
from headrace.spark.options import EventsBatch, EventsStream
from headrace.spark.plan import newest, spans_between
from headrace.testing import Clock, open_with_clock
from headrace.testing.clock import settable_clock
from headrace.transport.drive import drive


@pytest.fixture
def four(valkey_url: str) -> Iterator[Client]:
    """The same with four shards."""
    client, _ = open_with_clock(valkey_url, shards=4)
    with client:
        yield client


def place(url: str, client: Client, **options: object) -> dict[str, str]:
    given = {name: str(value) for name, value in options.items()}
    return {"url": url, "namespace": client.core.namespace, **given}


def batch_reader(url: str, client: Client, *filters: Filter, **options: object) -> EventsReader:
    reader = FilteredEventsReader(EventsBatch.read(place(url, client, **options)).settled())
    assert list(reader.pushFilters(list(filters))) == []
    return reader


def stream_reader(url: str, client: Client, **options: object) -> EventsStreamReader:
    return EventsStreamReader(EventsStream.read(place(url, client, **options)).settled())


def rows_of(
    reader: EventsReader | EventsStreamReader, parts: list[InputPartition]
) -> list[dict[str, Any]]:
    """What tasks would find, each with a reader of its own."""
    if isinstance(reader, EventsStreamReader):
        # Spark sends one that has not been used.
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


# batches


def test_an_empty_log_has_no_parts_and_the_part_of_spark_no_rows(
    valkey_url: str, hr: Client
) -> None:
    reader = batch_reader(valkey_url, hr)
    assert list(reader.partitions()) == []
    assert list(reader.read(InputPartition(None))) == []


def test_a_time_cuts_what_is_read(valkey_url: str, hr: Client) -> None:
    clock = Clock(hr)
    one_a_second(hr, clock, 10)
    # The tenth event is of now, the seventh of three seconds ago.
    since = clock.now - timedelta(seconds=3)
    for reader in (
        batch_reader(valkey_url, hr, GreaterThanOrEqual(("at",), since)),
        batch_reader(valkey_url, hr, since=since.isoformat()),
    ):
        [part] = reader.partitions()
        assert (part.value.first, part.value.last) == (7, 10)
        assert numbers(rows_of(reader, [part])) == [7, 8, 9, 10]
    after = batch_reader(valkey_url, hr, GreaterThan(("at",), since))
    assert numbers(read(after)) == [8, 9, 10]
    both = GreaterThan(("at",), since), LessThan(("at",), clock.now)
    assert numbers(read(batch_reader(valkey_url, hr, *both))) == [8, 9]
    never = GreaterThan(("at",), clock.now + timedelta(days=1))
    assert list(batch_reader(valkey_url, hr, never).partitions()) == []


def test_an_event_of_a_clock_that_was_set_back_is_found_by_its_own_time(
    valkey_url: str, hr: Client
) -> None:
    clock = Clock(hr)
    hr.queue("mail").put(1)
    then = clock.now
    clock.tick(-60)
    hr.queue("mail").put(2)
    before = LessThan(("at",), then)
    assert numbers(read(batch_reader(valkey_url, hr, before))) == [2]
    assert numbers(read(batch_reader(valkey_url, hr, EqualTo(("at",), then)))) == [1]


def test_rows_are_chosen_by_queue_kind_and_the_like(valkey_url: str, hr: Client) -> None:
    one_a_second(hr, Clock(hr), 6)
    hr.queue("mail").pop("worker-1")
    assert numbers(read(batch_reader(valkey_url, hr, queue="mail", kind="put"))) == [2, 4, 6]
    asked = [EqualTo(("queue",), "mail"), In(("kind",), ("put", "popped", None))]
    assert numbers(read(batch_reader(valkey_url, hr, *asked))) == [2, 4, 6, 7]
    assert numbers(read(batch_reader(valkey_url, hr, GreaterThan(("number",), 5)))) == [6, 7]
    assert read(batch_reader(valkey_url, hr, EqualTo(("worker",), "nobody"))) == []


def test_a_filter_that_is_not_understood_is_left_to_spark(valkey_url: str, hr: Client) -> None:
    reader = FilteredEventsReader(EventsBatch.read(place(valkey_url, hr)).settled())
    unknown = [
        Not(EqualTo(("queue",), "mail")),
        EqualTo(("more", "x"), b"y"),
        EqualTo(("priority",), 1.0),
        In(("queue",), ()),
        EqualTo(("queue",), None),
    ]
    known = EqualTo(("queue",), "mail")
    assert list(reader.pushFilters([*unknown, known])) == unknown


def test_payloads_are_bytes_however_large(valkey_url: str, hr: Client) -> None:
    hr.queue("mail").configure(event_data=1 << 20)
    payloads = [bytes(range(256)), b"\x00", b"", *([b"\xff" * 900_000] * 20)]
    with headrace.connect(valkey_url, namespace=hr.core.namespace, codec="raw") as raw:
        raw.queue("mail").put_many(payloads)
    assert [row["data"] for row in read(batch_reader(valkey_url, hr))] == payloads


def test_pages_grow_and_join(valkey_url: str, hr: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "FIRST_PAGE", 3)
    hr.queue("mail").put_many(list(range(300)))
    reader = batch_reader(valkey_url, hr, eventsPerPartition=150)
    parts = list(reader.partitions())
    assert len(parts) == 2
    sizes = [[batch.num_rows for batch in reader.read(part)] for part in parts]
    assert [(each[0], sum(each)) for each in sizes] == [(3, 150), (3, 150)]
    assert numbers(rows_of(reader, parts)) == list(range(1, 301))


# what is gone


def test_what_was_trimmed_is_a_loss_or_a_gap(valkey_url: str, hr: Client) -> None:
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
    only_mail = batch_reader(valkey_url, hr, EqualTo(("queue",), "mail"), **going_on)
    assert numbers(read(only_mail)) == list(range(10, 21, 2))


def test_what_is_trimmed_between_planning_and_reading_is_noticed(
    valkey_url: str, hr: Client
) -> None:
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


def test_a_time_after_all_that_is_gone_asks_for_none_of_it(valkey_url: str, hr: Client) -> None:
    clock = Clock(hr)
    one_a_second(hr, clock, 20)
    trim(hr, 11)
    start = json.dumps({"0": "0-0"})
    recent = GreaterThanOrEqual(("at",), clock.now - timedelta(seconds=4))
    reader = batch_reader(valkey_url, hr, recent, startingOffsets=start)
    assert numbers(read(reader)) == list(range(16, 21))
    older = GreaterThanOrEqual(("at",), clock.now - timedelta(seconds=15))
    with pytest.raises(EventsTrimmed):
        batch_reader(valkey_url, hr, older, startingOffsets=start).partitions()


# streams


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


def test_a_step_is_shared_fairly_and_ends_at_the_end(valkey_url: str, four: Client) -> None:
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


def test_without_a_limit_everything_is_one_step(valkey_url: str, four: Client) -> None:
    fill(four, {1: 30})
    reader = stream_reader(valkey_url, four)
    assert reader.getDefaultReadLimit() == ReadAllAvailable()
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert end == reader.reportLatestOffset()
    assert reached(end) == [0, 30, 0, 0]
    reader.stop()


def test_what_comes_after_available_now_is_for_the_next_time(valkey_url: str, hr: Client) -> None:
    hr.queue("mail").put_many([1, 2, 3])
    reader = stream_reader(valkey_url, hr)
    reader.prepareForTriggerAvailableNow()
    hr.queue("mail").put_many([4, 5])
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert reached(end) == [3]
    assert reader.latestOffset(end, ReadMaxRows(7)) == end
    reader.stop()


def test_a_stream_may_begin_with_what_comes(valkey_url: str, hr: Client) -> None:
    hr.queue("mail").put_many([1, 2, 3])
    reader = stream_reader(valkey_url, hr, startingOffsets="latest")
    start = reader.initialOffset()
    hr.queue("mail").put(4)
    end = reader.latestOffset(start, ReadAllAvailable())
    assert numbers(rows_of(reader, list(reader.partitions(start, end)))) == [4]
    reader.stop()


def test_an_offset_that_knows_fewer_shards_goes_on_with_all(valkey_url: str, four: Client) -> None:
    fill(four, {0: 2, 2: 3})
    reader = stream_reader(valkey_url, four)
    end = reader.latestOffset({"0": "0-0"}, ReadAllAvailable())
    assert reached(end) == [2, 0, 3, 0]
    assert len(rows_of(reader, list(reader.partitions({"0": "0-0"}, end)))) == 5
    reader.stop()


def test_a_stream_of_a_log_that_is_not_the_one_it_read_stops(valkey_url: str, hr: Client) -> None:
    hr.queue("mail").put(1)
    reader = stream_reader(valkey_url, hr)
    with pytest.raises(NamespaceMismatch, match="this is not the log that was read"):
        reader.latestOffset({"0": "1-7"}, ReadAllAvailable())
    reader.stop()


def test_a_stream_stops_where_another_log_has_grown_longer(valkey_url: str) -> None:
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
                with pytest.raises(NamespaceMismatch, match="never was in its log"):
                    reader.latestOffset(read_to, limit)
            with pytest.raises(NamespaceMismatch, match="with another checkpoint"):
                reader.partitions(start, read_to)
        reader.stop()


def test_a_log_that_is_emptied_meanwhile_is_read_to_where_it_ended(hr: Client) -> None:
    hr.queue("mail").put_many([1, 2, 3])
    transport = hr.core.transport
    ends = drive(transport, log_ends(hr.core))
    [span] = spans_between({}, newest(ends))
    transport.send([(0, ("XTRIM", hr.core.key(0, "events"), "MAXLEN", 0))])
    assert drive(transport, events.bounded(hr.core, [span], ends, 2)) == {0: span.upto}


def test_a_log_that_was_trimmed_wholly_is_a_gap_when_it_is_read(
    valkey_url: str, hr: Client
) -> None:
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
