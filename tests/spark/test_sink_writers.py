"""The writers of the sink as Spark calls them, each time pickled, but without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, TypeVar
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql import types
from pyspark.sql.datasource import WriterCommitMessage

from headrace import (
    Client,
    InvalidArgument,
    ServerUnavailable,
    StagedLost,
    WriteGivenUp,
    WriteIdTaken,
    WriteLost,
    connect,
)
from headrace.client.talk import drive
from headrace.client.talks import writing
from headrace.spark.sink import (
    BatchWriter,
    Staged,
    StreamWriter,
    batch_writer,
    stream_writer,
)
from tests.dump import dump
from tests.proxy import way_to

T = TypeVar("T")
SCHEMA = types.StructType([types.StructField("data", types.LongType())])
NAMED = types.StructType([*SCHEMA.fields, types.StructField("id", types.StringType())])


@pytest.fixture
def hr(valkey_url: str) -> Iterator[Client]:
    with connect(valkey_url, namespace=f"sink-{uuid4().hex[:12]}") as client:
        yield client


@pytest.fixture
def options(hr: Client, valkey_url: str) -> dict[str, str]:
    return {"url": valkey_url, "namespace": hr.core.namespace, "queue": "mail"}


def moved(value: T) -> T:
    """As it comes to another process."""
    found: T = pickle.loads(pickle.dumps(value))  # noqa: S301 - our own
    return found


def staged(
    writer: BatchWriter | StreamWriter, *partitions: list[int], query: str = "q"
) -> list[WriterCommitMessage | None]:
    """What tasks tell the driver."""
    found: list[WriterCommitMessage | None] = []
    for order, rows in enumerate(partitions):
        target = moved(writer).target
        batch = pa.RecordBatch.from_pydict({"data": rows})
        parcel = target.stage(iter([batch, batch.slice(0, 0)]), order)
        found.append(moved(Staged(parcel, target.options.on_exists, query)))
    return found


def held(hr: Client) -> list[Any]:
    return sorted(job.data for job in hr.queue("mail").jobs("waiting", count=1000).jobs)


def test_a_write_becomes_jobs_when_it_is_committed(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2], [], [3])
    assert held(hr) == []

    moved(writer).commit(messages)

    assert held(hr) == [1, 2, 3]
    [written] = hr.writes()
    assert (written.made, written.rows, written.queue) == (3, 3, "mail")


def test_only_what_is_in_the_messages_is_published(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer(options, SCHEMA, False)
    staged(writer, [1, 2])
    winners = staged(writer, [1, 2])
    staged(writer, [1, 2])

    writer.commit(winners)

    assert held(hr) == [1, 2]


def test_an_empty_write_is_a_write(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer({**options, "writeId": "nothing"}, SCHEMA, False)
    writer.commit(staged(writer, []))
    writer.commit([])

    written = hr.written("nothing")
    assert written is not None
    assert (written.rows, written.made) == (0, 0)
    assert written.published_at is not None


def test_a_write_with_an_id_is_done_once(hr: Client, options: dict[str, str]) -> None:
    named = {**options, "writeId": "import"}
    for rows in ([1, 2], [1, 2], [3]):
        writer = batch_writer(named, SCHEMA, False)
        writer.commit(staged(writer, rows))

    assert held(hr) == [1, 2]
    assert not [key for key in dump(hr) if "}:staged" in key or "}:attempts" in key]


def test_the_id_of_a_write_is_not_taken_for_another_queue(
    hr: Client, options: dict[str, str]
) -> None:
    named = {**options, "writeId": "monday"}
    first = batch_writer(named, SCHEMA, False)
    first.commit(staged(first, [1, 2]))
    second = batch_writer({**named, "queue": "elsewhere"}, SCHEMA, False)
    messages = staged(second, [3])
    with pytest.raises(WriteIdTaken, match="an id of its own"):
        second.commit(messages)

    assert held(hr) == [1, 2]
    assert hr.queue("elsewhere").counts().waiting == 0
    assert not [key for key in dump(hr) if "}:staged" in key]


def test_the_same_messages_may_be_committed_again(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2])
    writer.commit(messages)
    writer.commit(messages)

    assert held(hr) == [1, 2]


def test_what_is_aborted_leaves_nothing(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2], [3])
    moved(writer).abort([messages[0], None])
    moved(writer).abort(messages)

    assert held(hr) == []
    assert not [key for key in dump(hr) if "}:staged" in key]
    with pytest.raises(WriteGivenUp, match="nothing of it was published"):
        writer.commit(messages)


def test_what_was_staged_too_long_ago_is_not_published_in_part(
    hr: Client, options: dict[str, str]
) -> None:
    writer = batch_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2], [3])
    [lost] = [key for key in dump(hr) if "}:staged" in key and key.endswith(name_of(messages[1]))]
    hr.core.wire.send([(0, ("DEL", lost))])

    with pytest.raises(StagedLost, match="nothing was published"):
        writer.commit(messages)
    writer.abort(messages)

    assert held(hr) == []
    assert not [key for key in dump(hr) if "}:staged" in key]


def name_of(message: WriterCommitMessage | None) -> str:
    assert isinstance(message, Staged)
    return message.parcel.name


def test_an_abort_does_not_touch_what_was_committed(hr: Client, options: dict[str, str]) -> None:
    writer = stream_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2])
    writer.commit(messages, 0)

    moved(writer).abort(messages, 0)

    assert held(hr) == [1, 2]


def test_a_batch_of_a_stream_runs_again_in_vain(hr: Client, options: dict[str, str]) -> None:
    for batch, rows in ((0, [1]), (0, [1]), (1, [2]), (0, [1]), (1, [2])):
        writer = stream_writer(options, SCHEMA, False)
        moved(writer).commit(staged(writer, rows), batch)

    assert held(hr) == [1, 2]
    written = hr.written("q", stream=True)
    assert written is not None
    assert (written.batch, written.made) == (1, 1)
    assert not [key for key in dump(hr) if "}:staged" in key]


def test_two_queries_do_not_know_of_each_other(hr: Client, options: dict[str, str]) -> None:
    for query in ("one", "two"):
        writer = stream_writer(options, SCHEMA, False)
        writer.commit(staged(writer, [1], query=query), 0)

    assert held(hr) == [1, 1]


def test_a_batch_without_partitions_is_nothing(hr: Client, options: dict[str, str]) -> None:
    writer = stream_writer(options, SCHEMA, False)
    writer.commit([], 0)
    writer.abort([None], 0)

    assert hr.writes() == []


@pytest.mark.parametrize("op", ["stage", "prepare", "commit", "publish", "finalize", "write_state"])
@pytest.mark.parametrize("moment", ["before the request", "before the answer"])
def test_a_connection_that_breaks_loses_and_doubles_nothing(
    hr: Client, options: dict[str, str], valkey_url: str, op: str, moment: str
) -> None:
    sha = hr.core.library[op].sha
    with way_to(valkey_url) as way:
        writer = batch_writer({**options, "url": way.url}, SCHEMA, False)
        for rows in ([0], [1, 2, 3]):
            # The first time scripts are loaded, which is an exchange of its own.
            writer = batch_writer({**options, "url": way.url}, SCHEMA, False)
            if rows != [0]:
                way.lose(sha, moment)
            writer.commit(staged(writer, rows, [4]))
        assert way.cuts == 1

    assert held(hr) == [0, 1, 2, 3, 4, 4]
    assert hr.audit().balanced


def test_a_commit_that_fails_after_its_effect_is_done_when_it_runs_again(
    hr: Client, options: dict[str, str], valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.spark.options.RETRY_FOR", 0.1)
    decide = hr.core.library["commit"].sha
    with way_to(valkey_url) as way:
        writer = stream_writer({**options, "url": way.url}, SCHEMA, False)
        writer.commit(staged(writer, [0]), 0)
        messages = staged(writer, [1, 2])
        way.lose(decide, "before the answer", meanwhile=way.close)
        with pytest.raises(ServerUnavailable):
            writer.commit(messages, 1)
        way.open()
        moved(writer).abort(messages, 1)
        assert held(hr) == [0]

        again = stream_writer({**options, "url": way.url}, SCHEMA, False)
        again.commit(staged(again, [1, 2]), 1)

    assert held(hr) == [0, 1, 2]
    assert not [key for key in dump(hr) if "}:staged" in key]


def test_a_server_that_lost_rows_fails_the_write_also_when_it_is_run_again(
    hr: Client, options: dict[str, str]
) -> None:
    writer = batch_writer({**options, "writeId": "w"}, SCHEMA, False)
    messages = staged(writer, [1, 2], [3])
    target, parcels = writer.target, [one.parcel for one in messages if isinstance(one, Staged)]
    bundle = drive(hr.core.wire, writing.decide(hr.core, writer.write_of_all, parcels))
    assert bundle is not None
    hr.core.wire.send([(0, ("DEL", hr.core.key(0, f"staged:{parcels[0].name}")))])

    for run in (messages, staged(writer, [1, 2], [3])):
        with pytest.raises(WriteLost, match="shard 0 lacks 2 of its 3 rows"):
            target.commit(writer.write_of_all, [one for one in run if isinstance(one, Staged)])

    assert held(hr) == [3]
    written = hr.written("w")
    assert written is not None
    assert written.lost == {0: 2}


def test_a_stream_goes_on_after_a_batch_that_lost_rows(hr: Client, options: dict[str, str]) -> None:
    writer = stream_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2], [3])
    parcels = [one.parcel for one in messages if isinstance(one, Staged)]
    write = writing.stream_write("q", 0, "mail", "move")
    assert drive(hr.core.wire, writing.decide(hr.core, write, parcels))
    hr.core.wire.send([(0, ("DEL", hr.core.key(0, f"staged:{parcels[0].name}")))])

    with pytest.raises(WriteLost):
        writer.commit(messages, 0)
    writer.commit(staged(writer, [1, 2], [3]), 0)
    writer.commit(staged(writer, [4]), 1)

    assert held(hr) == [3, 4]


# what is asked for


def test_the_policy_is_that_of_the_queue_unless_it_is_given(
    hr: Client, options: dict[str, str]
) -> None:
    assert batch_writer(options, NAMED, False).write_of_all.on_exists == "move"
    hr.queue("mail").configure("task")
    assert batch_writer(options, NAMED, False).write_of_all.on_exists == "duplicate"
    given = batch_writer({**options, "onExists": "reject"}, NAMED, False)
    assert given.write_of_all.on_exists == "reject"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"queue": ""}, "queue"),
        ({"queue": "a\n"}, "control characters"),
        ({"onExists": "sometimes"}, "option onExists must be one of move, replace"),
        ({"codec": "xml"}, "option codec must be one of json, msgpack, raw"),
        ({"color": "red"}, "there is no option 'color' here"),
        ({"writeId": ""}, "option writeId must not be empty"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, str], more: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        batch_writer({**options, **more}, SCHEMA, False)


def test_a_queue_must_be_named(options: dict[str, str]) -> None:
    del options["queue"]
    with pytest.raises(InvalidArgument, match=r'say into which queue: .option\("queue"'):
        batch_writer(options, SCHEMA, False)


def test_nothing_is_overwritten(options: dict[str, str]) -> None:
    for make in (batch_writer, stream_writer):
        with pytest.raises(InvalidArgument, match=r'mode\("overwrite"\) would delete jobs'):
            make(options, SCHEMA, True)


def test_a_stream_names_its_batches_itself(options: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument, match=r"writeId is for df\.write"):
        stream_writer({**options, "writeId": "x"}, SCHEMA, False)


def test_the_password_in_the_url_is_not_shown(options: dict[str, str]) -> None:
    writer = batch_writer(options, SCHEMA, False)

    assert options["url"] not in repr(writer.target)
