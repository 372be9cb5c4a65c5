"""Queries of the history cannot read other files, run code or change the session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.spark.query import QueryRefused, run_query
from headrace.spark.query_check import check_condition

ALLOWED = (
    "select * from events",
    "table events",
    "from events select id",
    "from events |> where id > 0 |> select id",
    "values (1), (2)",
    "SELECT Count(*), max(ID) FROM Events",
    "select id, row_number() over w from events window w as (order by id desc)",
    "with some as (select id from events where id > 0) select count(*) from some",
    "with a as (select 1 as id), b as (select id from a) select * from b join events using (id)",
    "select * from events e where exists (select 1 from jobs j where j.id = e.id)",
    "select (select max(id) from jobs) as most, id from events",
    "select transform(array(1, 2), x -> x + 1), filter(array(1), x -> x > 0), typeof(1)",
    "select col from events lateral view explode(array(1, 2)) as col",
    "select * from range(3), explode(array(1))",
    "select percentile_approx(id, 0.9), approx_top_k(id), count_if(id > 1) from events",
    "select kll_sketch_get_quantile_bigint(kll_sketch_agg_bigint(id), 0.5) from events",
    "select date_trunc('hour', now()), current_date, cast('1' as int), int('2'), if(true, 1, 2)",
    "select id from events union all select id from jobs order by 1 limit 2",
    "select from_json('{\"a\": 1}', 'a int').a, get_json_object('{}', '$.a'), `id` from jobs",
    "select 'reflect(x)' as `transform using`, -- text.`/etc/passwd`\n 1",
    "select * from events where id in (select id from jobs) and nullif(id, 1) is not null",
    "select * from (select id from events) pivot (count(*) for id in (0, 1))",
)

# Every query that could read the file contains its path.
REFUSED = (
    "select transform(id) using 'cat {file}' as (line) from events",
    "from events map id using 'cat {file}' as line",
    "from events reduce id using 'cat {file}' as line",
    "with v as (select transform(id) using 'cat {file}' as (line) from events) select * from v",
    "select * from events where id in (select transform(id) using 'cat {file}' from events)",
    "select reflect('java.lang.System', 'getProperty', 'user.home')",
    "select REFLECT('java.lang.System', 'getProperty', 'user.home')",
    "select `reflect`('java.lang.System', 'getProperty', 'user.home')",
    "select java_method('java.lang.System', 'getenv')",
    "select try_reflect('java.lang.System', 'getProperty', 'user.home')",
    "select builtin.reflect('java.lang.System', 'getProperty', 'user.home')",
    "select system.builtin.reflect('java.lang.System', 'getProperty', 'user.home')",
    "select identifier('reflect')('java.lang.System', 'getProperty', 'user.home')",
    "select (select reflect('java.lang.System', 'getProperty', 'user.home'))",
    "select * from events where exists (select reflect('java.lang.System', 'getenv'))",
    "select max(id) over w from jobs window w as (order by reflect('java.lang.System', 'getenv'))",
    "select * from events, lateral (select reflect('java.lang.System', 'getenv'))",
    "select * from events order by reflect('java.lang.System', 'getenv')",
    "select id from events group by id having reflect('java.lang.System', 'getenv') is null",
    "select transform(array(1), x -> reflect('java.lang.System', 'getenv'))",
    "select case when reflect('java.lang.System', 'getenv') is null then 1 end",
    "select * from values (reflect('java.lang.System', 'getenv'))",
    "select * from explode(array(reflect('java.lang.System', 'getenv')))",
    "select * from events lateral view explode(array(reflect('java.lang.System', 'getenv'))) as x",
    "select * from events join jobs on events.id = reflect('java.lang.System', 'getenv')",
    "select * from events |> extend reflect('java.lang.System', 'getenv') as x",
    "select * from events pivot (max(reflect('java.lang.System', 'getenv')) for id in (1))",
    "select * from text.`{file}`",
    "select * from `text`.`{file}`",
    "select * from csv.`{file}`",
    "select * from json.`{file}`",
    "select * from parquet.`{file}`",
    "select * from binaryFile.`{file}`",
    "select * from text.`file://{file}`",
    "table text.`{file}`",
    "from text.`{file}` select *",
    "with v as (select * from text.`{file}`) select * from v",
    "with text as (select 1) select * from text.`{file}`",
    "select (select first(value) from text.`{file}`)",
    "select * from identifier('text.`{file}`')",
    "select * from identifier('te' || 'xt.`{file}`')",
    "select * from events union all select 1, value from text.`{file}`",
    "select * from events with (path = '{file}')",
    "select * from default.events",
    "select * from spark_catalog.default.events",
    "select * from elsewhere",
    "select from_xml('<a/>', 'a string', map('rowValidationXSDPath', '{file}'))",
    "select xpath('<!DOCTYPE a [<!ENTITY e SYSTEM \"file://{file}\">]><a>&e;</a>', 'a/text()')",
    "select from_avro(x'00', '\"string\"', map('avroSchemaUrl', '{file}'))",
    "select from_protobuf(x'00', 'x', '{file}')",
    "select input_file_name() from events",
    "select unknown_function(1)",
    "select * from python_worker_logs()",
    "select * from read_files('{file}')",
    "set spark.sql.shuffle.partitions = 3",
    "set",
    "reset",
    "add jar '{file}'",
    "add file '{file}'",
    "list jars",
    "create function f as 'x.Y'",
    "create temporary function f as 'x.Y'",
    "create temporary view v as select 1",
    "create or replace temporary view events as select 1",
    "create table t as select 1",
    "insert into events values (1)",
    "insert overwrite directory '{file}' using csv select 1",
    "drop view events",
    "cache table events",
    "refresh '{file}'",
    "show tables",
    "describe events",
    "explain select 1",
    "use default",
    "load data inpath '{file}' into table events",
    "declare variable x = 1",
    "execute immediate 'select 1'",
    "begin select 1; end",
    "select 1; select 2",
    "select 1) union all (select 2",
    "select 1) t join text.`{file}` on true join (select 2",
    "/*+ hint */",
    "select 1 /*",
    "",
)


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession) -> Iterator[None]:
    """Make two tables, and check that no query of this module changes the session."""

    def state() -> object:
        return spark.sql("set").collect(), spark.sql("show tables").collect()

    for name in ("events", "jobs"):
        spark.range(3).createOrReplaceTempView(name)
    before = state()
    yield
    assert state() == before
    for name in ("events", "jobs"):
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("query", ALLOWED)
def test_query_of_the_tables_is_allowed(spark: SparkSession, query: str) -> None:
    assert run_query(spark, query).schema


def test_query_returns_the_same_rows_with_and_without_the_check(spark: SparkSession) -> None:
    query = "with some as (select id from events where id > 0) select * from some order by id"

    assert run_query(spark, query).collect() == [(1,), (2,)]
    assert run_query(spark, query, unrestricted=True).collect() == [(1,), (2,)]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret.txt"
    file.write_text("top secret\n")
    return file


@pytest.mark.parametrize("query", REFUSED)
def test_query_that_could_do_more_is_refused(spark: SparkSession, query: str, secret: Path) -> None:
    with pytest.raises(QueryRefused) as refused:
        run_query(spark, query.replace("{file}", str(secret)))

    assert "top secret" not in str(refused.value)


def test_refusal_names_the_table_or_the_function(spark: SparkSession) -> None:
    with pytest.raises(QueryRefused, match=r"cannot read 'text./etc/passwd' here; the tables are"):
        run_query(spark, "select * from text.`/etc/passwd`")
    with pytest.raises(QueryRefused, match="cannot call 'reflect' here"):
        run_query(spark, "select reflect('a', 'b')")
    with pytest.raises(QueryRefused, match="cannot run programs with transform"):
        run_query(spark, "select transform(id) using 'id' from events")


def test_class_is_not_loaded_before_the_refusal(spark: SparkSession) -> None:
    with pytest.raises(QueryRefused) as refused:
        run_query(spark, "select reflect('no.such.Class', 'run')")

    assert "no.such.Class" not in str(refused.value)


def test_unrestricted_query_can_read_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("line\n")

    query = f"table text.`{tmp_path}`"

    [row] = run_query(spark, query, unrestricted=True).collect()

    assert row == ("line",)


def test_condition_can_neither_read_tables_nor_call_unsafe_functions(spark: SparkSession) -> None:
    check_condition(spark, "queue = 'mail' and array_contains(tags, 'vip') and at > now()")
    for condition in (
        "reflect('java.lang.System', 'getenv') is null",
        "exists (select * from text.`/etc/passwd`)",
        "id in (select id from events)",
        "id in (select transform(id) using 'id' from values (1) as t(id))",
    ):
        with pytest.raises(QueryRefused):
            check_condition(spark, condition)
