"""Questions in SQL to the tables of a lake. They are only read."""

from __future__ import annotations

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import InvalidArgument
from headrace.spark.gist import gist


class QueryRefused(InvalidArgument):
    """What was asked is no question in SQL, or not one that these tables can answer."""


def asked(spark: SparkSession, question: str) -> DataFrame:
    """The answer to a select. What is no query, and so could change something, is refused."""
    text = question.strip().rstrip(";")
    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - it only reads
    try:
        parser.parsePlan(text)
    except PySparkException as error:
        raise QueryRefused(gist(error)) from None
    try:
        # Only a query can stand where a table does.
        return spark.sql(f"select * from (\n{text}\n)")  # noqa: S608 - it is the user's own
    except ParseException:
        raise QueryRefused(
            "only queries are answered here: select ..., with ..., values ..., or from ..."
        ) from None
    except AnalysisException as error:
        raise QueryRefused(gist(error)) from None
