"""Plots of a history."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace.spark import plots

BEGUN = datetime(2026, 11, 16, 5, 2, 11, tzinfo=UTC)
COLOUR = re.compile(r"\x1b\[[\d;]*m")
ATTEMPTS = """
    select * from values
        ('completed', 0), ('completed', 900), ('lost', 2000), ('completed', 2000), ('running', null)
    as attempts(outcome, at)
"""
DAILY = """
    select * from values
        ('all', map('s0', 2, 'm1', 1)), ('all', map('s0', 1)), ('tag', map('s0', 7))
    as daily(by, wait_histogram)
"""


def drawn(step: int = 1, **ended: list[int]) -> plots.Picture:
    return plots.Picture(BEGUN, step, ended, [("s0", 3), ("s1", 0), ("m2", 1)])


def attempts(spark: SparkSession) -> DataFrame:
    ended = f"timestamp_millis({int(BEGUN.timestamp())}000 + at)"
    return spark.sql(ATTEMPTS).selectExpr("outcome", f"{ended} as ended")


def test_picture_counts_outcomes_by_step_and_waiting_times(
    spark: SparkSession,
) -> None:
    found = plots.picture(attempts(spark), spark.sql(DAILY))

    assert (found.begins, found.step) == (BEGUN, 1)
    assert found.ended == {"completed": [2, 0, 1], "lost": [0, 0, 1]}
    assert [pair for pair in found.waits if pair[1]] == [("s0", 3), ("m1", 1)]
    assert len(found.waits) == 61


def test_picture_without_finished_attempts_is_refused(spark: SparkSession) -> None:
    with pytest.raises(plots.NothingToDraw):
        plots.picture(attempts(spark).where("outcome = 'running'"), spark.sql(DAILY))


@pytest.mark.parametrize(
    ("seconds", "step"), [(0, 1), (59, 1), (60, 2), (3600, 120), (86400, 1800), (10**7, 166667)]
)
def test_step_limits_number_of_bars(seconds: int, step: int) -> None:
    assert plots.step_for(seconds) == step


@pytest.mark.parametrize(
    ("step", "words"),
    [(1, "second"), (30, "30 seconds"), (60, "minute"), (7200, "2 hours"), (86400, "day")],
)
def test_title_has_the_step(step: int, words: str) -> None:
    assert drawn(step, completed=[1]).title == f"attempts that ended, per {words}"


def test_file_has_the_format_of_its_suffix(tmp_path: Path) -> None:
    plots.save(drawn(completed=[1, 2], failed=[0, 1]), tmp_path / "one.png")
    plots.save(drawn(completed=[1]), tmp_path / "two.svg")

    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "two.svg").read_text()


def test_text_plot_has_a_letter_for_each_outcome() -> None:
    lines = COLOUR.sub("", plots.text(drawn(completed=[10, 40], lost=[0, 40]))).splitlines()

    body = [line.partition("┤")[2] or line.partition("│")[2] for line in lines[1:-3]]
    assert sum("x" in line for line in body) == pytest.approx(len(body) / 2, abs=1)
    assert all("█" in line for line in body if "x" not in line)
    assert "x" not in "".join(line[: len(line) // 3] for line in body)
    assert max(map(len, lines)) <= 68
    assert lines[-2].split() == ["0", "s", "1", "s"]
    assert lines[-1] == "█ completed  x lost"
