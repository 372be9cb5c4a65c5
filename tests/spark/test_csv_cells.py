"""CSV files with data of jobs that a spreadsheet could run as formulas."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace.spark.csv_cells import CSV_OPTIONS, without_formulas

FORMULAS = (
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\rx",
    "\n=1",
    "  =1",
    "\uff1d1",
    "-",
    "--5",
    "-5 ",
    "-5\n",
    '=HYPERLINK("http://localhost","x")',
)
KEPT = (
    "plain",
    "-5",
    "+1.5e3",
    "-.5",
    "-12.",
    "a=b",
    " x ",
    'say "hi"',
    "back\\",
    'a",=1',
    'a\\",=1',
    "a;=1",
    "a\t=1",
    "a\r=1",
    "a\n=1",
    "",
)


def written(rows: DataFrame, folder: Path) -> list[list[str]]:
    """Write rows as `lake sql --to` does, and read the cells as a spreadsheet does."""
    without_formulas(rows).coalesce(1).write.options(**CSV_OPTIONS).csv(str(folder))
    [part] = folder.glob("*.csv")
    with part.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_cells_that_are_formulas_get_an_apostrophe(spark: SparkSession, tmp_path: Path) -> None:
    texts = [*FORMULAS, *KEPT]
    rows = spark.createDataFrame([(text,) for text in texts], "a string")

    header, *cells = written(rows, tmp_path / "answer.csv")

    assert header == ["a"]
    assert cells == [*([f"'{text}"] for text in FORMULAS), *([text] for text in KEPT)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_spreadsheet_finds_a_formula(
    spark: SparkSession, tmp_path: Path, delimiter: str
) -> None:
    texts = [*FORMULAS, *(text for text in KEPT if text[:1] not in ("+", "-"))]
    rows = spark.createDataFrame([(text,) for text in texts], "a string")
    written(rows, tmp_path / "answer.csv")

    [part] = (tmp_path / "answer.csv").glob("*.csv")
    with part.open(newline="", encoding="utf-8") as file:
        found = [cell for row in csv.reader(file, delimiter=delimiter) for cell in row]
    assert len(found) >= len(texts)
    assert not [cell for cell in found if cell.lstrip().startswith(("=", "+", "-", "@"))]


def test_numbers_and_names_of_columns_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame(
        [(-5, -1.5, Decimal("-2.50"), "-7")],
        "a int, `b.c` double, `d``e` decimal(5,2), f string",
    )

    assert without_formulas(rows).schema == rows.schema
    header, cells = written(rows, tmp_path / "answer.csv")
    assert header == ["a", "b.c", "d`e", "f"]
    assert cells == ["-5", "-1.5", "-2.50", "-7"]
