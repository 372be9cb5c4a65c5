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
    ServerOptions,
    SinkOptions,
)
from pyspark_headrace import DefaultSource

SECRET = "tr0ub4dor"  # noqa: S105 - of nobody


def test_names_are_read_in_any_case_and_what_is_not_given_has_a_default() -> None:
    given = CaseInsensitiveDict({"StartingOffsets": "LATEST", "FAILONDATALOSS": "False"})
    found = EventsStreamOptions.read(given | {"maxeventspertrigger": "7"})
    assert (found.starting, found.fail_on_data_loss, found.per_trigger) == ("latest", False, 7)
    assert (found.namespace, found.url, found.table) == ("default", "", "events")
    assert EventsStreamOptions.read({}).per_trigger is None


@pytest.mark.parametrize(
    ("table", "given", "complaint"),
    [
        (ServerOptions, {"namespace": "a{b"}, "namespace must not contain braces"),
        (ServerOptions, {"uri": SECRET}, "there is no option 'uri' here, only url, namespace"),
        (ServerOptions, {"path": "/x"}, "there is no option 'path' here"),
        (
            JobsOptions,
            {"state": "done"},
            "option state must be one of waiting, scheduled, .*, not 'done'",
        ),
        (JobsOptions, {"queue": ""}, "option queue must not be empty"),
        (JobsOptions, {"tag": "a\nb"}, "option tag must not contain control characters"),
        (EventsBatchOptions, {"table": "x"}, "option table must be one of events, jobs, not 'x'"),
        (
            EventsBatchOptions,
            {"failOnDataLoss": "no"},
            "option failOnDataLoss must be one of true, false",
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
            "there is no option 'maxEventsPerTrigger'",
        ),
        (
            EventsStreamOptions,
            {"endingOffsets": "latest"},
            "there is no option 'endingOffsets' here",
        ),
        (EventsBatchOptions, {"since": "2026-11-01"}, "option since must be a time with its zone"),
        (
            EventsBatchOptions,
            {"since": "soon"},
            "option since must be a time with its zone, .* not 'soon",
        ),
        (EventsStreamOptions, {"queue": "mail"}, "there is no option 'queue' here"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(
    table: type[ServerOptions], given: dict[str, str], complaint: str
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
def test_a_url_that_cannot_be_read_is_not_shown(url: str) -> None:
    with pytest.raises(InvalidArgument, match="option url must begin with one of") as caught:
        ServerOptions.read({"url": url})
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "table", [ServerOptions, EventsBatchOptions, EventsStreamOptions, JobsOptions, SinkOptions]
)
def test_a_url_is_in_no_repr(table: type[ServerOptions]) -> None:
    found = table.read({"url": f"redis://ada:{SECRET}@localhost:1/0"})
    assert SECRET in found.url
    assert SECRET not in repr(found)


def test_what_spark_passes_on_is_no_option_of_ours() -> None:
    assert (
        EventsStreamOptions.read({"checkpointLocation": "/x", "queryName": "y"})
        == EventsStreamOptions()
    )


def test_without_a_url_the_embedded_server_is_meant_and_found_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        settled = JobsOptions.read({"namespace": "shop"}).settled()
        monkeypatch.chdir("/")
        assert re.match(r"unix:///", settled.url)
        assert settled.settled() is settled
        with settled.open(make=True) as client:
            assert client.core.namespace == "shop"
    finally:
        embedded.stop(tmp_path / ".headrace")


def test_who_reads_makes_no_namespace(valkey_url: str) -> None:
    server = ServerOptions.read({"url": valkey_url, "namespace": "nobody's"})
    for _ in range(2):
        with pytest.raises(NamespaceNotFound, match='no namespace "nobody\'s" on this server'):
            server.open()


def test_columns_cannot_be_chosen_by_a_schema(valkey_url: str) -> None:
    source = DefaultSource(options={"url": valkey_url})
    for make in (source.reader, source.streamReader):
        with pytest.raises(InvalidArgument, match="read without schema"):
            make(schema=StructType().add("id", "string"))


def test_jobs_are_no_stream(valkey_url: str) -> None:
    source = DefaultSource(options=CaseInsensitiveDict({"url": valkey_url, "TABLE": "jobs"}))
    with pytest.raises(InvalidArgument, match="cannot be a stream"):
        source.streamReader(schema=source.schema())
