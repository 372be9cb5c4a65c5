"""Check that an SQL query only reads the tables of the history.

Spark SQL can also run programs (`transform ... using`), call Java methods (`reflect`), read any
file (a table named parquet.`/path`) and change the session. The check examines the parsed query
before Spark resolves names, because resolving the name of a file already reads the file. The check
refuses every function that it does not know.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from py4j.java_gateway import JavaObject, is_instance_of
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.errors import InvalidArgument
from headrace.spark.error_summary import error_summary

# Spark sorts its functions into these groups. Functions in other groups can call Java methods or
# read files: misc_funcs, xml_funcs, avro_funcs, protobuf_funcs and table_funcs.
_SAFE_GROUPS = frozenset(
    f"{name}_funcs"
    for name in (
        *("agg", "array", "bitwise", "collection", "conditional", "conversion", "csv", "datetime"),
        *("generator", "hash", "json", "lambda", "map", "math", "predicate", "sketch", "st"),
        *("string", "struct", "url", "variant", "vector", "window"),
    )
)
_SAFE_FUNCTIONS = frozenset(
    {"assert_true", "monotonically_increasing_id", "raise_error", "range", "typeof", "uuid"}
)
_UNSAFE_SYNTAX = {
    "ScriptTransformation": "run programs with transform ... using",
    "ExpressionWithUnresolvedIdentifier": "compute names with identifier()",
    "PlanWithUnresolvedIdentifier": "compute names with identifier()",
}


class QueryRefused(InvalidArgument):
    """The text is not a valid SQL query over the tables."""


def subquery(spark: SparkSession, query: str) -> str:
    """Return a query that selects the rows of the given query.

    Raises QueryRefused if the text is not a query.
    """
    text = query.strip().rstrip(";")
    try:
        _parser(spark).parsePlan(text)
    except PySparkException as error:
        raise QueryRefused(error_summary(error)) from None
    # The text becomes a subquery in FROM. In FROM, Spark refuses any text that is not a query.
    whole = f"select * from (\n{text}\n)"  # noqa: S608 - the user's own query
    try:
        _parser(spark).parsePlan(whole)
    except PySparkException:
        raise QueryRefused(
            "only queries are allowed here: select ..., with ..., values ..., or from ..."
        ) from None
    return whole


def check_query(spark: SparkSession, query: str, tables: Collection[str]) -> None:
    """Raise QueryRefused unless the query reads only these tables, with functions of Spark."""
    _check(spark, _parser(spark).parsePlan(query), tables)


def check_condition(spark: SparkSession, condition: str) -> None:
    """Raise QueryRefused if a condition reads tables or calls unsafe functions."""
    _check(spark, _parser(spark).parseExpression(condition), ())


def _parser(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - PySpark has no public parser


def _check(spark: SparkSession, tree: Any, tables: Collection[str]) -> None:
    nodes = [(node.getClass().getSimpleName(), node) for node in _nodes(spark, tree)]
    named = {
        each.productElement(0).lower()
        for kind, node in nodes
        if kind == "UnresolvedWith"
        for each in _values(node.cteRelations().iterator())
    }
    for kind, node in nodes:
        if kind in _UNSAFE_SYNTAX:
            raise QueryRefused(f"queries cannot {_UNSAFE_SYNTAX[kind]}")
        if kind == "UnresolvedRelation":
            _check_table(node, {*tables, *named})
        elif kind == "UnresolvedFunction":
            _check_function(spark, node.nameParts().mkString("."))
        elif kind == "UnresolvedTableValuedFunction":
            _check_function(spark, node.name().mkString("."))
        elif kind == "UnresolvedGenerator":
            _check_function(spark, node.name().unquotedString())


def _check_table(node: Any, tables: Collection[str]) -> None:
    parts = list(_values(node.multipartIdentifier().iterator()))
    if len(parts) != 1 or parts[0].lower() not in tables or len(node.options()):
        known = f"; the tables are {', '.join(sorted(tables))}" if tables else ""
        raise QueryRefused(f"queries cannot read {'.'.join(parts)!r} here{known}")


def _check_function(spark: SparkSession, name: str) -> None:
    if name.lower() not in _SAFE_FUNCTIONS and _group_of(spark, name) not in _SAFE_GROUPS:
        raise QueryRefused(
            f"queries cannot call {name!r} here: the function is unknown, or it could read files "
            "or run code"
        )


def _group_of(spark: SparkSession, name: str) -> str | None:
    """Return the group of a function that is part of Spark, or None for any other name."""
    catalyst = spark._jvm.org.apache.spark.sql.catalyst  # type: ignore[union-attr] # noqa: SLF001
    wanted = catalyst.FunctionIdentifier(name)
    for registry in (
        catalyst.analysis.FunctionRegistry,
        catalyst.analysis.TableFunctionRegistry,
    ):
        found = registry.builtin().lookupFunction(wanted)
        if found.isDefined():
            return str(found.get().getGroup())
    return None


def _nodes(spark: SparkSession, tree: Any) -> Iterator[Any]:
    """Yield every node of a parsed query or expression, also the nodes of subqueries and lists."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - PySpark has no public gateway
    left = [tree]
    while left:
        node = left.pop()
        if not isinstance(node, JavaObject):
            continue
        if is_instance_of(gateway, node, "scala.collection.Iterable"):
            left += _values(node.iterator())
        elif is_instance_of(gateway, node, "scala.Product"):
            yield node
            left += _values(node.productIterator())


def _values(iterator: Any) -> Iterator[Any]:
    while iterator.hasNext():
        yield iterator.next()
