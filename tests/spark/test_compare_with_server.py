"""Comparison of lake and server: equal figures, and named differences."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headrace import Client
from headrace.cli.audit import show_comparison
from headrace.engine.statistics import Series
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.operations.daily_totals import DailyTotals, merged_stats
from headrace.spark.compare_with_server import (
    Coverage,
    _compared,
    _LakeFigures,
    _ServerFigures,
    compare,
    coverage_of,
)
from headrace.spark.options import ServerAddress
from headrace.testing import START
from tests.spark.support.histories import all_events, lake_of

# The first Spark query takes a long time on a busy machine.
pytestmark = pytest.mark.timeout(900)

# The random history of the fixture `history_client`.
HISTORY_SEED, HISTORY_STEPS = 3, 400

MON, TUE, WED, THU = (date(2026, 1, day) for day in (5, 6, 7, 8))


@pytest.fixture(scope="module")
def lake(history_client: Client, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    story = all_events(history_client)
    most = {shard: max(one.number for one in story if one.shard == shard) for shard in (0, 1)}
    files = LocalFiles(tmp_path_factory.mktemp("lake"))
    return lake_of(
        files, story, {shard: 2 * number // 3 for shard, number in most.items()}, history_client
    )


def test_lake_and_server_are_equal(
    spark: SparkSession, history_client: Client, lake: Lake, history_address: ServerAddress
) -> None:
    found = compare(spark, lake, history_address, history_client)

    assert found.differences == []
    assert found.left_out == []
    assert found.equal
    assert found.queues == 3
    assert found.days > 2
    assert found.values > 100


def add_one(hr: Client, key: str, field: str) -> None:
    """Change a counter on the server directly."""
    [reply] = hr.core.transport.send([(0, ("HINCRBY", hr.core.key(0, key), field, 1))])
    assert isinstance(reply, int)


def test_changed_bin_and_book_are_named(
    spark: SparkSession, history_client: Client, lake: Lake, history_address: ServerAddress
) -> None:
    day = START.date() + timedelta(days=1)
    number = (day - date(1970, 1, 1)).days
    add_one(history_client, f"histogram:{number}:mail", "wait:d300")
    add_one(history_client, "books:mail", "put")

    found = compare(spark, lake, history_address, history_client)

    assert not found.equal
    assert found.differences[0] == (
        f"queue 'mail', {day}, wait time: the number in bin d300 is 0 in the lake and 1 on the "
        "server"
    )
    assert "queue 'mail', books: the number of jobs put" in found.differences[1]
    assert len(found.differences) == 2


def test_row_missing_from_lake_is_named(
    spark: SparkSession, history_client: Client, history_address: ServerAddress, tmp_path: Path
) -> None:
    story = all_events(history_client)
    most = {shard: max(one.number for one in story if one.shard == shard) for shard in (0, 1)}
    lake = lake_of(LocalFiles(tmp_path), story, most, history_client)
    path = next(file.path for file in lake.snapshot().files if file.rows > 2)
    rows = pq.ParquetFile(tmp_path / path).read()
    pq.write_table(rows.take([0, *range(2, rows.num_rows)]), tmp_path / path)

    found = compare(spark, lake, history_address, history_client)

    assert "1 events are neither in the lake nor on the server" in found.differences[0]


def span(day: date, first: int, last: int, missing: int = 0, lost: int = 0) -> dict[str, Any]:
    events = last - first + 1 - missing - lost
    return {
        "shard": 0,
        "day": day,
        "first": first,
        "last": last,
        "events": events,
        "missing": missing,
    }


def test_history_from_first_event_is_complete() -> None:
    found = coverage_of([span(TUE, 11, 20), span(MON, 1, 10)])

    assert (found.is_whole, found.gaps, found.holes) == (True, {}, [])


def test_first_day_is_a_gap_if_history_starts_later() -> None:
    found = coverage_of([span(MON, 7, 10), span(TUE, 11, 20)])

    assert not found.is_whole
    assert found.gaps == {MON: "the history of shard 0 starts with event 7"}


def test_gap_reaches_back_to_day_of_previous_event() -> None:
    found = coverage_of([span(MON, 1, 10), span(WED, 11, 20, missing=5), span(THU, 21, 30)])

    assert set(found.gaps) == {MON, TUE, WED}
    assert found.gaps[TUE] == "5 events of shard 0 were trimmed before a sync"
    assert found.holes == []


def test_lost_events_are_a_difference_not_a_gap() -> None:
    found = coverage_of([span(MON, 1, 10), span(TUE, 11, 20, lost=2)])

    assert found.holes == [f"shard 0 of {TUE}: 2 events are neither in the lake nor on the server"]
    assert found.gaps == {}


def test_duplicate_events_are_a_difference() -> None:
    found = coverage_of([span(MON, 1, 10, lost=-1)])

    assert found.holes == ["shard 0: 1 events exist more than once"]


NO_TIMES = Series(0, 0.0, 0.0, {})
NO_BOOKS = {"put": 0, "cancelled": 0, "expired": 0, "complete": 0, "moved": 0}


def told_by_server(*, stats: bool) -> _ServerFigures:
    """Return a server with one queue and no figures of its last day."""
    nothing = DailyTotals(0, 0, None, NO_BOOKS, NO_TIMES, NO_TIMES, 0, 0)
    settings = {"mail": {"stats": stats, "stats_age": 86_400, "histogram_age": 86_400}}
    of_day = {MON: merged_stats("mail", [nothing], failed=0)}
    return _ServerFigures(MON, settings, {"mail": [nothing]}, {"mail": of_day})


def test_disabled_statistics_are_listed_as_left_out() -> None:
    found = _compared(_LakeFigures({}, {}, Coverage()), told_by_server(stats=False))
    assert found.left_out == [
        "queue 'mail': its statistics are disabled",
        "the days: no day has statistics both in the lake and on the server",
    ]
    # The books are compared although the statistics are disabled.
    assert (found.days, found.values, found.equal) == (0, 4, True)


def test_audit_does_not_report_equality_if_nothing_was_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = _compared(_LakeFigures({}, {}, Coverage(is_whole=False)), told_by_server(stats=True))
    assert (found.days, found.values) == (0, 0)
    show_comparison(found)
    said = capsys.readouterr().out
    assert (
        "not compared: the days: no day has statistics both in the lake and on the server" in said
    )
    assert "the lake has nothing to compare" in said
    assert "the lake and the server agree" not in said
