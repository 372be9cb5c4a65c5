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
from tests.cli.conftest import RunCommand, cli, client  # noqa: F401 - fixtures
from tests.spark.support.histories import all_events, lake_of

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(900)]


@pytest.fixture
def place(client: Client, tmp_path: Path) -> Path:  # noqa: F811
    """Return the folder of a lake that has all events except the last two."""
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
    cli: RunCommand,  # noqa: F811
    client: Client,  # noqa: F811
    place: Path,
) -> None:
    here = ("--lake", str(place))
    result = cli("lake", "rollup", *here)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("Built the tables of 1 day from 3 events in ")
    assert cli("lake", "rollup", *here).out == "Nothing has changed.\n"

    question = "select queue, put, failures from daily where by = 'all'"
    assert cli("lake", "sql", question, *here).rows == [
        ["queue", "put", "failures"],
        ["mail", "1", "1"],
    ]
    # With --live, the tables include events that are not in the lake yet.
    assert cli("lake", "sql", question, "--live", "--json", *here).json == {
        "queue": "mail",
        "put": 2,
        "failures": 1,
    }
    out = place.parent / "failures.parquet"
    assert cli("lake", "sql", "from failures", "--to", str(out), *here).code == 0
    assert pq.read_table(out).to_pylist()[0]["message"] == "it broke"
    csv = place.parent / "answer.csv"
    formula = "select queue, put, failures, '=1+1' as sum from daily where by = 'all';"
    assert cli("lake", "sql", formula, "--to", str(csv), *here).code == 0
    [part] = csv.glob("*.csv")
    assert pd.read_csv(part).to_dict("records") == [
        {"queue": "mail", "put": 1, "failures": 1, "sum": "'=1+1"}
    ]

    result = cli("audit", *here)
    assert (result.code, result.err) == (0, "")
    assert "the lake and the server agree" in result.out
    today = (datetime.now(UTC).date() - datetime(1970, 1, 1, tzinfo=UTC).date()).days
    summary = client.core.key(0, f"stats:{today}:mail")
    client.core.transport.send([(0, ("HINCRBY", summary, "failures", 1))])
    result = cli("audit", *here)
    assert result.code == 1
    assert "the lake and the server differ: queue 'mail'" in result.err
    assert "the number of failures is 1 in the lake and 2 on the server" in result.err
    assert cli("audit", "--json", *here).json["lake"]["differences"] == [
        result.err.split(": ", 2)[2].strip()
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
    result = str(refused.value)
    assert why in result
    assert "\n" not in result
    assert "at org.apache" not in result


def test_a_bad_target_is_refused_before_spark_is_asked(cli: RunCommand, tmp_path: Path) -> None:  # noqa: F811
    result = cli("lake", "sql", "select 1", "--to", "x.xlsx", "--lake", str(tmp_path))
    assert (result.code, result.out) == (2, "")
    assert "--to must end with one of .parquet, .csv, .json" in result.err


def test_there_must_be_a_lake(cli: RunCommand, tmp_path: Path) -> None:  # noqa: F811
    for words in (["sql", "select 1"], ["rollup"]):
        result = cli("lake", *words, "--lake", str(tmp_path))
        assert result.code == 1
        assert "create one with headrace lake sync" in result.err


def test_lake_has_all_events_of_the_tables(place: Path) -> None:
    assert Lake.open(LocalFiles(place)).snapshot().rows == 3
