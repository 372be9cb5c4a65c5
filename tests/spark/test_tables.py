"""Tables over random histories equal the tables of the reference."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from headrace.engine.events import Event
from headrace.spark import tables
from headrace.spark.tables.duration_stats import SERIES
from headrace.spark.tables.expressions import count_tagged
from headrace.testing import open_with_clock
from tests.spark.support.histories import Chance, all_events, frame_of
from tests.spark.support.tables import expect_row, expect_table

TABLES = {
    "attempts": tables.attempts,
    "jobs": tables.jobs,
    "daily": tables.daily,
    "failures": tables.failures,
    "workers": lambda events: tables.workers(tables.attempts(events)),
    "throughput": tables.throughput,
}


@pytest.fixture(scope="module")
def story(valkey_url: str) -> list[Event]:
    client, clock = open_with_clock(valkey_url, shards=2)
    with client as hr:
        chance = Chance(hr, clock, seed=1)
        chance.steps(600)
        chance.rare_deeds()
        return all_events(hr)


@pytest.fixture(scope="module")
def events(spark: SparkSession, story: list[Event]) -> Iterator[DataFrame]:
    frame = frame_of(spark, story).cache()
    yield frame
    frame.unpersist()


def test_random_history_has_every_kind_of_event(story: list[Event]) -> None:
    assert len({event.at.date() for event in story}) > 3
    assert {event.kind for event in story} >= {
        *("put", "due", "popped", "completed", "failed", "retried", "released", "lost"),
        *("updated", "unfailed", "prioritised", "tagged", "cancelled", "expired"),
    }
    assert {event.was for event in story} >= {"running", "complete", "replaced", "failed"}
    assert {event.reason for event in story if event.kind == "lost"} == {
        *("lease expired", "session ended", "session closed", "operator"),
    }


@pytest.mark.parametrize("name", TABLES)
def test_table_equals_reference(name: str, events: DataFrame, story: list[Event]) -> None:
    expect_table(name, TABLES[name](events), story)


def test_tag_count_does_not_change_tables(events: DataFrame, story: list[Event]) -> None:
    tagged = count_tagged(events)
    assert tagged == sum(event.tags not in (None, "[]") for event in story) > 0
    expect_table("daily", tables.daily(events, tagged=tagged), story)
    expect_table("attempts", tables.attempts(events, tagged=tagged), story)


def test_tables_skip_tags_if_there_are_none(events: DataFrame, story: list[Event]) -> None:
    without = events.withColumn("tags", F.lit(None).cast("string"))
    told = [replace(event, tags=None) for event in story]
    assert count_tagged(without) == 0
    expect_table("daily", tables.daily(without, tagged=0), told)
    expect_table("attempts", tables.attempts(without, tagged=0), told)


def test_merged_days_equal_one_long_day(events: DataFrame) -> None:
    keys = ["queue", "by", "name"]
    days = tables.merged_days(tables.daily(events), keys)
    one = tables.daily(events.withColumn("day", F.lit("2026-01-01").cast("date")))
    sketches = [f"{name}_sketch" for name in SERIES]
    found, expected = (
        {tuple(row[key] for key in keys): row.asDict() for row in table.drop(*sketches).collect()}
        for table in (days, one.drop("day"))
    )
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        expect_row("merged", key, found[key], row)


@pytest.mark.parametrize("name", tables.__all__)
def test_example_of_docstring_runs(name: str, events: DataFrame) -> None:
    docstring = inspect.getdoc(getattr(tables, name)) or ""
    [example] = [line.strip() for line in docstring.split("\n") if line.startswith("    ")]

    exec(example, vars(tables) | {"events": events})  # noqa: S102 - our own docstrings
