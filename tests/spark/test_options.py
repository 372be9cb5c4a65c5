from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StructType

from headrace import InvalidArgument, NamespaceNotFound
from headrace.local_server import embedded
from headrace.spark.options import (
    EventsBatchOptions,
    EventsStreamOptions,
    JobsOptions,
    ServerAddress,
    SinkOptions,
)
from pyspark_headrace import DefaultSource

SECRET = "tr0ub4dor"  # noqa: S105 - not a real password


def test_option_names_ignore_case_and_have_defaults() -> None:
    given = CaseInsensitiveDict({"StartingOffsets": "LATEST", "FAILONDATALOSS": "False"})
    found = EventsStreamOptions.read(given | {"maxeventspertrigger": "7"})
    assert (found.starting, found.fail_on_data_loss, found.per_trigger) == ("latest", False, 7)
    assert (found.namespace, found.url, found.table) == ("default", "", "events")
    assert EventsStreamOptions.read({}).per_trigger is None


@pytest.mark.parametrize(
    ("table", "given", "complaint"),
    [
        (ServerAddress, {"namespace": "a{b"}, "namespace must not contain spaces"),
        (ServerAddress, {"uri": SECRET}, "unknown option 'uri'; the options are url, namespace"),
        (ServerAddress, {"path": "/x"}, "unknown option 'path'"),
        (
            JobsOptions,
            {"state": "done"},
            "option state must be 'waiting' or 'scheduled' or .*, not 'done'",
        ),
        (JobsOptions, {"queue": ""}, "option queue must not be empty"),
        (JobsOptions, {"tag": "a\nb"}, "option tag must not contain control characters"),
        (EventsBatchOptions, {"table": "x"}, "option table must be 'events' or 'jobs', not 'x'"),
        (
            EventsBatchOptions,
            {"failOnDataLoss": "no"},
            "option failOnDataLoss must be 'true' or 'false'",
        ),
        (
            EventsBatchOptions,
            {"eventsPerPartition": "0"},
            "must be a whole number from 1 to .*, not '0'",
        ),
        (
            EventsBatchOptions,
            {"eventsPerPartition": "1e3"},
            "option eventsPerPartition must be a whole",
        ),
        (
            EventsBatchOptions,
            {"eventsPerPartition": "9" * 5000},
            "option eventsPerPartition must be a",
        ),
        (
            EventsBatchOptions,
            {"eventsPerPartition": "\u0661"},
            "option eventsPerPartition must be a whole",
        ),
        (
            EventsBatchOptions,
            {"endingOffsets": "[]"},
            "option endingOffsets must be earliest, latest or",
        ),
        (
            EventsBatchOptions,
            {"maxEventsPerTrigger": "5"},
            "unknown option 'maxEventsPerTrigger'",
        ),
        (
            EventsStreamOptions,
            {"endingOffsets": "latest"},
            "unknown option 'endingOffsets'",
        ),
        (
            EventsBatchOptions,
            {"since": "2026-11-01"},
            "option since must be a timestamp with a time zone",
        ),
        (
            EventsBatchOptions,
            {"since": "soon"},
            "option since must be a timestamp with a time zone, .* not 'soon",
        ),
        (EventsStreamOptions, {"queue": "mail"}, "unknown option 'queue'"),
    ],
)
def test_wrong_option_is_named_with_allowed_values(
    table: type[ServerAddress], given: dict[str, str], complaint: str
) -> None:
    with pytest.raises(InvalidArgument, match=complaint) as caught:
        table.read(given)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        f"redis://ada:{SECRET}/x@localhost:1",
        f"redis://ada:pass@host:{SECRET}",
        f"rediz://ada:{SECRET}@localhost",
        f"redis+sentinel://ada:{SECRET}@nowhere/x",
        f"redis://localhost?{SECRET}={SECRET}",
        SECRET,
        "",
    ],
)
def test_invalid_url_is_not_shown(url: str) -> None:
    with pytest.raises(InvalidArgument, match="option url must begin with one of") as caught:
        ServerAddress.read({"url": url})
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "table", [ServerAddress, EventsBatchOptions, EventsStreamOptions, JobsOptions, SinkOptions]
)
def test_repr_does_not_show_url(table: type[ServerAddress]) -> None:
    found = table.read({"url": f"redis://ada:{SECRET}@localhost:1/0"})
    assert SECRET in found.url
    assert SECRET not in repr(found)


def test_options_of_spark_are_ignored() -> None:
    assert (
        EventsStreamOptions.read({"checkpointLocation": "/x", "queryName": "y"})
        == EventsStreamOptions()
    )


def test_default_url_is_the_embedded_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        settled = JobsOptions.read({"namespace": "shop"}).settled()
        monkeypatch.chdir("/")
        assert re.match(r"unix:///", settled.url)
        assert settled.settled() is settled
        with settled.open_with("raw", 1.0, 5.0) as client:
            assert client.core.namespace == "shop"
    finally:
        embedded.stop(tmp_path / ".headrace")


def test_reading_does_not_create_a_namespace(valkey_url: str) -> None:
    server = ServerAddress.read({"url": valkey_url, "namespace": "missing"})
    for _ in range(2):
        with pytest.raises(NamespaceNotFound, match="'missing' does not exist on this server"):
            server.open()


def test_user_schema_is_refused(valkey_url: str) -> None:
    source = DefaultSource(options={"url": valkey_url})
    for make in (source.reader, source.streamReader):
        with pytest.raises(InvalidArgument, match="read without schema"):
            make(schema=StructType().add("id", "string"))


def test_table_jobs_is_refused_as_stream(valkey_url: str) -> None:
    source = DefaultSource(options=CaseInsensitiveDict({"url": valkey_url, "TABLE": "jobs"}))
    with pytest.raises(InvalidArgument, match="cannot be read as a stream"):
        source.streamReader(schema=source.schema())
