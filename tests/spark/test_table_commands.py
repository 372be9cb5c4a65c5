"""The commands `lake rollup`, `lake sql` and `audit --lake`, in the Spark session of the tests."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headrace import Client
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.spark.query import QueryRefused, run_query
from tests.cli.conftest import Type, client, typed  # noqa: F401 - fixtures
from tests.spark.support.histories import all_events, lake_of

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(900)]


@pytest.fixture
def place(client: Client, tmp_path: Path) -> Path:  # noqa: F811
    """Return the folder of a lake that has all but the last two events."""
    mail = client.queue("mail")
    mail.put("x", id="a", tags=["vip"])
    mail.pop("ada")[0].fail("Boom", "it broke")
    story = all_events(client)
    place = tmp_path / "lake"
    lake_of(LocalFiles(place), story, {0: len(story)}, client)
    mail.put("y", id="b")
    mail.pop("ada")[0].complete()
    return place


@pytest.mark.long
def test_history_is_rolled_up_queried_and_compared(
    typed: Type,  # noqa: F811
    client: Client,  # noqa: F811
    place: Path,
) -> None:
    here = ("--lake", str(place))
    said = typed("lake", "rollup", *here)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("The tables of 1 day are built, of 3 events, in ")
    assert typed("lake", "rollup", *here).out == "Nothing has changed.\n"

    question = "select queue, put, failures from daily where by = 'all'"
    assert typed("lake", "sql", question, *here).rows == [
        ["queue", "put", "failures"],
        ["mail", "1", "1"],
    ]
    # With --live, the result includes events that the lake does not have yet.
    assert typed("lake", "sql", question, "--live", "--json", *here).json == {
        "queue": "mail",
        "put": 2,
        "failures": 1,
    }
    out = place.parent / "failures.parquet"
    assert typed("lake", "sql", "from failures", "--to", str(out), *here).code == 0
    assert pq.read_table(out).to_pylist()[0]["message"] == "it broke"
    csv = place.parent / "answer.csv"
    assert typed("lake", "sql", f"{question};", "--to", str(csv), *here).code == 0
    [part] = csv.glob("*.csv")
    assert pd.read_csv(part).to_dict("records") == [{"queue": "mail", "put": 1, "failures": 1}]

    said = typed("audit", *here)
    assert (said.code, said.err) == (0, "")
    assert "the lake says what the server says" in said.out
    today = (datetime.now(UTC).date() - datetime(1970, 1, 1, tzinfo=UTC).date()).days
    summary = client.core.key(0, f"stats:{today}:mail")
    client.core.transport.send([(0, ("HINCRBY", summary, "failures", 1))])
    said = typed("audit", *here)
    assert said.code == 1
    assert "the lake does not say what the server says: queue 'mail'" in said.err
    assert "the number of failures is 1 in the lake, 2 on the server" in said.err
    assert typed("audit", "--json", *here).json["lake"]["differences"] == [
        said.err.split(": ", 2)[2].strip()
    ]


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("selct 1", "Syntax error"),
        ("select nothing from range(1)", "nothing"),
        ("select * from nowhere", "nowhere"),
        ("drop table daily", "only queries"),
        ("insert into daily values (1)", "only queries"),
        ("create view x as select 1", "only queries"),
        ("select 1) union (select 2", "error"),
        ("select 1; drop table x", "error"),
        ("", "error"),
    ],
)
def test_invalid_query_is_refused_in_one_line(spark: SparkSession, question: str, why: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        run_query(spark, question)
    said = str(refused.value)
    assert why in said
    assert "\n" not in said
    assert "at org.apache" not in said


def test_wrong_output_file_is_refused_before_the_query(typed: Type, tmp_path: Path) -> None:  # noqa: F811
    said = typed("lake", "sql", "select 1", "--to", "x.xlsx", "--lake", str(tmp_path))
    assert (said.code, said.out) == (2, "")
    assert "--to must end with one of .parquet, .csv, .json" in said.err


def test_missing_lake_is_refused(typed: Type, tmp_path: Path) -> None:  # noqa: F811
    for words in (["sql", "select 1"], ["rollup"]):
        said = typed("lake", *words, "--lake", str(tmp_path))
        assert said.code == 1
        assert "create one with headrace lake sync" in said.err


def test_lake_has_all_events_of_the_tables(place: Path) -> None:
    assert Lake.open(LocalFiles(place)).snapshot().rows == 3
