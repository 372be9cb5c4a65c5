"""The rollup and the history view: changed days are rebuilt, and every event counts once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace import Client, Put
from headrace.engine.events import Event
from headrace.lake import catalogue
from headrace.lake.catalogue import Catalogue, DayBuild
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.lake.manifest import DataFile
from headrace.spark import query
from headrace.spark import rollup as rolling
from headrace.spark.options import ServerAddress
from headrace.spark.query import VIEWS, open_history
from headrace.spark.rollup import rollup
from headrace.testing import open_with_clock
from tests.spark.support.histories import all_events, lake_of
from tests.spark.support.lakes import Died, DyingFiles
from tests.spark.support.tables import KEYS, expect_table

# The first Spark query takes a long time on a busy machine.
pytestmark = pytest.mark.timeout(900)

# The random history of the fixture `history_client`.
HISTORY_SEED, HISTORY_STEPS = 2, 500


@pytest.fixture(scope="module")
def story(history_client: Client) -> list[Event]:
    return all_events(history_client)


def numbers(story: list[Event], day: date) -> dict[int, int]:
    """Return the last event number of each shard at the end of a day."""
    return {
        shard: max(
            (one.number for one in story if one.shard == shard and one.at.date() <= day), default=0
        )
        for shard in (0, 1)
    }


def coverage(spark: SparkSession, lake: Lake, day: date) -> dict[int, tuple[int, int]]:
    """Return the stored first and last event number of each shard on a day."""
    built = [each for each in catalogue.newest(lake.files).days if each.day == day]
    rows = rolling.stored_table(spark, lake, "log_coverage", built).collect()
    return {row["shard"]: (row["first"], row["last"]) for row in rows}


def days_of(story: list[Event]) -> list[date]:
    return sorted({event.at.date() for event in story})


def in_lake(story: list[Event], upto: dict[int, int]) -> list[Event]:
    return [event for event in story if event.number <= upto[event.shard]]


class Rolled:
    """A lake that was rolled up and then synced up to the end of another day."""

    def __init__(
        self, spark: SparkSession, files: LocalFiles, story: list[Event], owner: Client
    ) -> None:
        self.days = days_of(story)
        self.lagging = numbers(story, self.days[-3]) | {1: numbers(story, self.days[-4])[1]}
        self.lake = lake_of(files, story, self.lagging, owner)
        self.first = [run.days for run in rollup(spark, self.lake)]
        self.upto = numbers(story, self.days[-2])
        lake_of(files, story, self.upto, owner)


class DyingInBuild(DyingFiles):
    """Files of a rollup that dies after it has written a table."""

    def flush(self, paths: Iterable[str]) -> None:
        self._left = 1
        super().flush(paths)


@pytest.fixture(scope="module")
def rolled(
    spark: SparkSession,
    history_client: Client,
    story: list[Event],
    tmp_path_factory: pytest.TempPathFactory,
) -> Rolled:
    return Rolled(spark, LocalFiles(tmp_path_factory.mktemp("lake")), story, history_client)


def test_first_rollup_builds_all_days_at_once(rolled: Rolled) -> None:
    assert rolled.first == [tuple(rolled.days[:-2])]


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "events"])
def test_table_combines_stored_days_lake_and_server(
    name: str,
    spark: SparkSession,
    rolled: Rolled,
    history_address: ServerAddress,
    story: list[Event],
) -> None:
    with open_history(spark, rolled.lake, history_address) as now:
        assert [built.day for built in now.built] == rolled.days[:-3]
        assert now.later == rolled.days[-3:]
        expect_table(name, now.table(name), story)


def test_next_rollup_builds_only_changed_days(
    spark: SparkSession, rolled: Rolled, story: list[Event]
) -> None:
    kept = catalogue.newest(rolled.lake.files)
    before = {built.day: built.build for built in kept.days}
    with pytest.raises(Died):
        list(rollup(spark, Lake.open(DyingInBuild(str(rolled.lake.files)))))
    assert catalogue.newest(rolled.lake.files) == kept

    runs = [run.days for run in rollup(spark, rolled.lake)]

    late, new = rolled.days[-3:-1]
    assert coverage(spark, rolled.lake, new) == {
        shard: (min(of_shard), max(of_shard))
        for shard in (0, 1)
        if (
            of_shard := [one.number for one in story if one.at.date() == new and one.shard == shard]
        )
    }
    assert runs == [(late, new)]
    after = {built.day: built.build for built in catalogue.newest(rolled.lake.files).days}
    assert {day for day in after if after[day] != before.get(day)} == {late, new}
    assert list(rollup(spark, rolled.lake)) == []
    with open_history(spark, rolled.lake) as now:
        assert now.later == []
        for name in KEYS:
            expect_table(name, now.table(name), in_lake(story, rolled.upto))


@pytest.mark.parametrize("seed", range(3))
def test_history_has_every_event_once_wherever_the_lake_ends(
    seed: int,
    spark: SparkSession,
    history_client: Client,
    history_address: ServerAddress,
    story: list[Event],
    tmp_path: Path,
) -> None:
    last = numbers(story, days_of(story)[-1])
    upto = {shard: Random(seed * 2 + shard).randint(0, number) for shard, number in last.items()}
    lake = lake_of(LocalFiles(tmp_path), story, upto, history_client)

    with open_history(spark, lake, history_address) as now:
        rows = now.events.select("shard", "number", "kind", "job_id", "at", "day").collect()

    assert sorted(tuple(row) for row in rows) == sorted(
        (one.shard, one.number, one.kind, one.job_id, one.at.replace(tzinfo=None), one.at.date())
        for one in story
    )


def test_history_is_read_again_if_events_are_synced_and_trimmed(
    spark: SparkSession, valkey_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, _ = open_with_clock(valkey_url)
    beyond = query._beyond
    with client:
        client.queue("mail").put_many(range(6))
        story = all_events(client)
        lake = lake_of(LocalFiles(tmp_path), story, {0: 2}, client)

        def and_a_sync(*args: Any) -> DataFrame:
            monkeypatch.setattr(query, "_beyond", beyond)
            found = beyond(*args)
            lake_of(LocalFiles(tmp_path), story, {0: 4}, client)
            trim = ("XTRIM", client.core.key(0, "events"), "MINID", "=", story[4].entry_id)
            assert client.core.transport.send([(0, trim)]) == [4]
            return found

        monkeypatch.setattr(query, "_beyond", and_a_sync)
        with open_history(
            spark, lake, ServerAddress(url=valkey_url, namespace=client.core.namespace)
        ) as now:
            assert now.snapshot.number == 2
            assert sorted(row["number"] for row in now.events.collect()) == list(range(1, 7))


def test_empty_lake_has_empty_tables(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake.create(LocalFiles(tmp_path), "told", [1])

    assert list(rollup(spark, lake)) == []
    with open_history(spark, lake) as now:
        assert now.table("daily").isEmpty()
        assert now.table("jobs").isEmpty()


def test_run_is_rebuilt_from_the_first_day_with_overlapping_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mon, tue, wed = (date(2026, 1, day) for day in (5, 6, 7))
    lake = Lake.create(LocalFiles(tmp_path), "shop", [1])
    added = [DataFile(path=str(day), day=day, queue="mail", rows=1, bytes=1) for day in (tue, wed)]
    snapshot = lake.commit(lake.snapshot(), "first", added=added)
    tried: list[list[date]] = []

    def build(*args: Any) -> list[DayBuild]:
        tried.append(args[-1])
        known: dict[str, Any] = {"events": 1, "before": "", "after": "", "build": "b", "tables": ()}
        return [DayBuild(day=day, **known) for day in args[-1]]

    catalogue.commit(lake.files, Catalogue(), build([tue, wed]))
    late = DataFile(path=str(mon), day=mon, queue="mail", rows=1, bytes=1)
    lake.commit(snapshot, "second", added=[late])
    monkeypatch.setattr(rolling, "_build", build)
    monkeypatch.setattr(rolling, "_first_overlap", lambda *_: mon)
    assert [run.days for run in rollup(None, lake)] == [(mon, tue, wed)]  # type: ignore[arg-type]
    assert tried == [[tue, wed], [mon], [mon, tue, wed]]


@pytest.mark.long
def test_days_are_built_together_if_clock_was_set_back_over_midnight(
    spark: SparkSession, valkey_url: str, tmp_path: Path
) -> None:
    client, clock = open_with_clock(valkey_url)
    with client:
        mail = client.queue("mail")
        mail.configure(lease=3600)
        clock.set(datetime(2026, 1, 5, 23, 59, tzinfo=UTC))
        mail.put_many([Put(n, id=f"job-{n}") for n in range(4)])
        first = mail.pop("ada")
        clock.tick(120)
        second = mail.pop("grace")
        seen = [len(all_events(client))]
        clock.tick(-121)
        second[0].complete()
        third = mail.pop("grace")
        seen.append(len(all_events(client)))
        clock.tick(130)
        first[0].complete()
        third[0].fail("Broken")
        story = all_events(client)
        files = LocalFiles(tmp_path)
        runs: list[tuple[date, ...]] = []
        for upto in (*seen, len(story)):
            lake = lake_of(files, story, {0: upto}, client)
            runs += [run.days for run in rollup(spark, lake)]
    # One rollup at first, one after a late event, and one after more events of the second day.
    assert runs == [(date(2026, 1, 5), date(2026, 1, 6))] * 3
    with open_history(spark, lake) as now:
        assert now.later == []
        for name in ("attempts", "jobs", "daily"):
            expect_table(name, now.table(name), story)
