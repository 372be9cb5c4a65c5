"""Stored replay plans: sweep removes rows without a plan and keeps rows with a plan."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from headrace.errors import InvalidArgument
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.spark.replay import (
    ReplayPlan,
    folder_of,
    plan_id,
    plans,
    sweep,
    unfinished,
    write_plan,
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(LocalFiles(tmp_path), "shop", [7])


def plan(write: str, rate: float | None = None) -> ReplayPlan:
    replay, now = plan_id("true", "again", 0), dt.datetime.now(dt.UTC)
    return ReplayPlan(id=replay, write=write, at=now, where="true", into="again", rows=1, rate=rate)


def lay_rows(lake: Lake, replay: str, write: str) -> str:
    folder = folder_of(replay, write)
    lake.files.create(f"{folder}/part-0.parquet", b"x")
    return folder


def test_sweep_removes_rows_without_plan(lake: Lake) -> None:
    mine = plan("mine")
    named = lay_rows(lake, mine.id, mine.write)
    left = [lay_rows(lake, mine.id, "died"), lay_rows(lake, "other", "died")]
    write_plan(lake, mine)
    assert sweep(lake) == []
    assert sweep(lake, older_than=0) == sorted(left)
    assert [found.path for found in lake.files.list(named)] == [f"{named}/part-0.parquet"]
    assert [found for found, _ in plans(lake)] == [mine]


@pytest.mark.parametrize(("begun", "rate"), [(None, 5.0), (2.0, 5.0)])
def test_resumed_replay_keeps_its_rate(lake: Lake, begun: float | None, rate: float) -> None:
    mine = write_plan(lake, plan("mine", begun))
    with pytest.raises(InvalidArgument, match="leave out --rate"):
        unfinished(lake, "true", "again", rate=rate)
    assert unfinished(lake, "true", "again") == mine
    assert unfinished(lake, "true", "again", rate=begun) == mine
