"""Tests that pickle and call the writers of the sink without Spark, in the way that Spark does."""

from __future__ import annotations

import pickle
from typing import Any, TypeVar

import pyarrow as pa
import pytest
from pyspark.sql import types
from pyspark.sql.datasource import WriterCommitMessage

from headrace import (
    Client,
    InvalidArgument,
    ServerUnavailable,
    StagedLost,
    WriteAborted,
    WriteIdTaken,
    WriteLost,
)
from headrace.operations import writes
from headrace.spark.sink import (
    BatchWriter,
    StagedMessage,
    StreamWriter,
    batch_writer,
    stream_writer,
)
from headrace.transport.drive import drive
from tests.support.dump import dump
from tests.support.proxy import way_to

pytestmark = pytest.mark.namespace(server_clock=True)


T = TypeVar("T")
SCHEMA = types.StructType([types.StructField("data", types.LongType())])
NAMED = types.StructType([*SCHEMA.fields, types.StructField("id", types.StringType())])


@pytest.fixture
def options(hr: Client, valkey_url: str) -> dict[str, str]:
    return {"url": valkey_url, "namespace": hr.core.namespace, "queue": "mail"}


def moved(value: T) -> T:
    """Return a copy of an object by pickling it, as Spark does for another process."""
    found: T = pickle.loads(pickle.dumps(value))  # noqa: S301 - our own
    return found


def staged(
    writer: BatchWriter | StreamWriter, *partitions: list[int], query: str = "q"
) -> list[WriterCommitMessage | None]:
    """Return the commit messages of tasks."""
    found: list[WriterCommitMessage | None] = []
    for order, rows in enumerate(partitions):
        target = moved(writer).target
        batch = pa.RecordBatch.from_pydict({"data": rows})
        attempt = target.stage(iter([batch, batch.slice(0, 0)]), order)
        found.append(moved(StagedMessage(attempt, target.options.on_exists, query)))
    return found


def held(hr: Client) -> list[Any]:
    return sorted(job.data for job in hr.queue("mail").jobs("waiting", count=1000).jobs)


def test_rows_become_jobs_at_commit(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2], [], [3])
    assert held(hr) == []

    moved(writer).commit(messages)

    assert held(hr) == [1, 2, 3]
    [written] = hr.writes.list()
    assert (written.made, written.rows, written.queue) == (3, 3, "mail")


def test_only_rows_of_commit_messages_are_published(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer(options, SCHEMA, False)
    staged(writer, [1, 2])
    winners = staged(writer, [1, 2])
    staged(writer, [1, 2])

    writer.commit(winners)

    assert held(hr) == [1, 2]


def test_empty_write_is_recorded(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer({**options, "writeId": "nothing"}, SCHEMA, False)
    writer.commit(staged(writer, []))
    writer.commit([])

    written = hr.writes.get("nothing")
    assert written is not None
    assert (written.rows, written.made) == (0, 0)
    assert written.published_at is not None


def test_write_with_id_is_published_once(hr: Client, options: dict[str, str]) -> None:
    named = {**options, "writeId": "import"}
    for rows in ([1, 2], [1, 2], [3]):
        writer = batch_writer(named, SCHEMA, False)
        writer.commit(staged(writer, rows))

    assert held(hr) == [1, 2]
    assert not [key for key in dump(hr) if "}:staged" in key or "}:attempts" in key]


def test_write_id_of_another_queue_is_refused(hr: Client, options: dict[str, str]) -> None:
    named = {**options, "writeId": "monday"}
    first = batch_writer(named, SCHEMA, False)
    first.commit(staged(first, [1, 2]))
    second = batch_writer({**named, "queue": "elsewhere"}, SCHEMA, False)
    messages = staged(second, [3])
    with pytest.raises(WriteIdTaken, match="use another writeId"):
        second.commit(messages)

    assert held(hr) == [1, 2]
    assert hr.queue("elsewhere").counts().waiting == 0
    assert not [key for key in dump(hr) if "}:staged" in key]


def test_repeated_commit_does_nothing(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2])
    writer.commit(messages)
    writer.commit(messages)

    assert held(hr) == [1, 2]


def test_aborted_write_leaves_nothing(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2], [3])
    moved(writer).abort([messages[0], None])
    moved(writer).abort(messages)

    assert held(hr) == []
    assert not [key for key in dump(hr) if "}:staged" in key]
    with pytest.raises(WriteAborted, match="No row was published"):
        writer.commit(messages)


def test_write_with_expired_rows_publishes_nothing(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2], [3])
    [lost] = [key for key in dump(hr) if "}:staged" in key and key.endswith(name_of(messages[1]))]
    hr.core.transport.send([(0, ("DEL", lost))])

    with pytest.raises(StagedLost, match="Nothing was published"):
        writer.commit(messages)
    writer.abort(messages)

    assert held(hr) == []
    assert not [key for key in dump(hr) if "}:staged" in key]


def name_of(message: WriterCommitMessage | None) -> str:
    assert isinstance(message, StagedMessage)
    return message.attempt.name


def test_abort_after_commit_changes_nothing(hr: Client, options: dict[str, str]) -> None:
    writer = stream_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2])
    writer.commit(messages, 0)

    moved(writer).abort(messages, 0)

    assert held(hr) == [1, 2]


def test_repeated_stream_batch_is_not_published_again(hr: Client, options: dict[str, str]) -> None:
    for batch, rows in ((0, [1]), (0, [1]), (1, [2]), (0, [1]), (1, [2])):
        writer = stream_writer(options, SCHEMA, False)
        moved(writer).commit(staged(writer, rows), batch)

    assert held(hr) == [1, 2]
    written = hr.writes.get("q", stream=True)
    assert written is not None
    assert (written.batch, written.made) == (1, 1)
    assert not [key for key in dump(hr) if "}:staged" in key]


def test_two_streaming_queries_are_independent(hr: Client, options: dict[str, str]) -> None:
    for query in ("one", "two"):
        writer = stream_writer(options, SCHEMA, False)
        writer.commit(staged(writer, [1], query=query), 0)

    assert held(hr) == [1, 1]


def test_stream_batch_without_partitions_writes_nothing(
    hr: Client, options: dict[str, str]
) -> None:
    writer = stream_writer(options, SCHEMA, False)
    writer.commit([], 0)
    writer.abort([None], 0)

    assert hr.writes.list() == []


@pytest.mark.parametrize("op", ["stage", "prepare", "commit", "publish", "finalize", "write_state"])
@pytest.mark.parametrize("moment", ["before the request", "before the answer"])
def test_broken_connection_loses_and_duplicates_nothing(
    hr: Client, options: dict[str, str], valkey_url: str, op: str, moment: str
) -> None:
    sha = hr.core.library.operations[op].name
    with way_to(valkey_url) as way:
        writer = batch_writer({**options, "url": way.url}, SCHEMA, False)
        for rows in ([0], [1, 2, 3]):
            # The first call also loads the scripts, which is a separate round trip.
            writer = batch_writer({**options, "url": way.url}, SCHEMA, False)
            if rows != [0]:
                way.lose(sha, moment)
            writer.commit(staged(writer, rows, [4]))
        assert way.cuts == 1

    assert held(hr) == [0, 1, 2, 3, 4, 4]
    assert hr.audit().balanced


def test_commit_whose_reply_was_lost_succeeds_when_repeated(
    hr: Client, options: dict[str, str], valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.spark.options.RETRY_FOR", 0.1)
    commit = hr.core.library.operations["commit"].name
    with way_to(valkey_url) as way:
        writer = stream_writer({**options, "url": way.url}, SCHEMA, False)
        writer.commit(staged(writer, [0]), 0)
        messages = staged(writer, [1, 2])
        way.lose(commit, "before the answer", meanwhile=way.close)
        with pytest.raises(ServerUnavailable):
            writer.commit(messages, 1)
        way.open()
        moved(writer).abort(messages, 1)
        assert held(hr) == [0]

        again = stream_writer({**options, "url": way.url}, SCHEMA, False)
        again.commit(staged(again, [1, 2]), 1)

    assert held(hr) == [0, 1, 2]
    assert not [key for key in dump(hr) if "}:staged" in key]


def test_lost_rows_fail_the_write_also_when_repeated(hr: Client, options: dict[str, str]) -> None:
    writer = batch_writer({**options, "writeId": "w"}, SCHEMA, False)
    messages = staged(writer, [1, 2], [3])
    target, attempts = (
        writer.target,
        [one.attempt for one in messages if isinstance(one, StagedMessage)],
    )
    transaction = drive(hr.core.transport, writes.commit(hr.core, writer.spark_write, attempts))
    assert transaction is not None
    hr.core.transport.send([(0, ("DEL", hr.core.key(0, f"staged:{attempts[0].name}")))])

    for run in (messages, staged(writer, [1, 2], [3])):
        with pytest.raises(WriteLost, match="shard 0 lacks 2 of its 3 rows"):
            target.commit(
                writer.spark_write, [one for one in run if isinstance(one, StagedMessage)]
            )

    assert held(hr) == [3]
    written = hr.writes.get("w")
    assert written is not None
    assert written.lost == {0: 2}


def test_stream_continues_after_batch_with_lost_rows(hr: Client, options: dict[str, str]) -> None:
    writer = stream_writer(options, SCHEMA, False)
    messages = staged(writer, [1, 2], [3])
    attempts = [one.attempt for one in messages if isinstance(one, StagedMessage)]
    write = writes.stream_write("q", 0, "mail", "move")
    assert drive(hr.core.transport, writes.commit(hr.core, write, attempts))
    hr.core.transport.send([(0, ("DEL", hr.core.key(0, f"staged:{attempts[0].name}")))])

    with pytest.raises(WriteLost):
        writer.commit(messages, 0)
    writer.commit(staged(writer, [1, 2], [3]), 0)
    writer.commit(staged(writer, [4]), 1)

    assert held(hr) == [3, 4]


# Options


def test_default_policy_is_that_of_the_queue(hr: Client, options: dict[str, str]) -> None:
    assert batch_writer(options, NAMED, False).spark_write.on_exists == "move"
    hr.queue("mail").configure("task")
    assert batch_writer(options, NAMED, False).spark_write.on_exists == "duplicate"
    given = batch_writer({**options, "onExists": "reject"}, NAMED, False)
    assert given.spark_write.on_exists == "reject"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"queue": ""}, "queue"),
        ({"queue": "a\n"}, "control characters"),
        ({"onExists": "sometimes"}, "option onExists must be 'move' or 'replace'"),
        ({"codec": "xml"}, "option codec must be 'json' or 'msgpack' or 'raw'"),
        ({"color": "red"}, "unknown option 'color'"),
        ({"writeId": ""}, "option writeId must not be empty"),
    ],
)
def test_wrong_option_is_named(options: dict[str, str], more: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        batch_writer({**options, **more}, SCHEMA, False)


def test_missing_queue_is_refused(options: dict[str, str]) -> None:
    del options["queue"]
    with pytest.raises(
        InvalidArgument, match=r'option queue is missing: set it with .option\("queue"'
    ):
        batch_writer(options, SCHEMA, False)


def test_mode_overwrite_is_refused(options: dict[str, str]) -> None:
    for make in (batch_writer, stream_writer):
        with pytest.raises(InvalidArgument, match=r'mode\("overwrite"\) is not supported'):
            make(options, SCHEMA, True)


def test_write_id_is_refused_for_streams(options: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument, match=r"writeId is only for df\.write"):
        stream_writer({**options, "writeId": "x"}, SCHEMA, False)


def test_password_in_url_is_not_shown(options: dict[str, str]) -> None:
    writer = batch_writer(options, SCHEMA, False)

    assert options["url"] not in repr(writer.target)
