from __future__ import annotations

from pyspark.sql import SparkSession


def test_session_runs_a_query(spark: SparkSession) -> None:
    assert spark.range(10).selectExpr("sum(id) as total").collect()[0]["total"] == 45
