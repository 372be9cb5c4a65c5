"""`lake sql`: questions to the tables of the history."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.lake.place import DEFAULT, At, files_at
from headrace.cli.lake.starting import spark_session
from headrace.cli.opening import opened
from headrace.cli.options import JsonLines, Namespace, Url
from headrace.cli.show import as_line, table
from headrace.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json"}
MOST = 1000


def sql(
    question: Annotated[
        str,
        typer.Argument(
            metavar="SELECT",
            help="Of events, attempts, jobs, daily, failures, workers and throughput.",
        ),
    ],
    *,
    lake: At = DEFAULT,
    live: Annotated[
        bool, typer.Option("--live", help="With what only the server has so far.")
    ] = False,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="PATH", help="Write it there: .parquet, .csv or .json."),
    ] = None,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: JsonLines = False,
) -> None:
    """Answer a question about the history, in SQL; nothing can be changed by it.

    Without --live no server is asked: the answer is as of the last sync. At most 1,000 rows are
    shown; --to writes all of them, as a folder of files.
    """
    from headrace.lake.lake import Lake  # noqa: PLC0415 - msgspec takes long to load

    _check_target(to)
    if live:
        with opened(url, namespace):
            """Raises before Spark is started if there is no such namespace."""
    with spark_session() as spark:
        from headrace.spark.options import ServerOptions  # noqa: PLC0415
        from headrace.spark.query import (  # noqa: PLC0415 - pyspark
            create_views,
            open_history,
            run_query,
        )

        found = Lake.open(files_at(lake, spark))
        server = ServerOptions(url=url or "", namespace=namespace) if live else None
        with open_history(spark, found, server) as now:
            create_views(now, question)
            answer = run_query(spark, question)
            if to is None:
                _show(answer, as_json=as_json)
            else:
                _write(answer, to)


def _check_target(to: str | None) -> None:
    if to is not None and PurePath(to).suffix not in FORMATS:
        raise InvalidArgument(f"--to must end with one of {', '.join(FORMATS)}, not {to!r}")


def _show(answer: DataFrame, *, as_json: bool) -> None:
    rows = answer.limit(MOST + 1).collect()
    shown = [row.asDict(recursive=True) for row in rows[:MOST]]
    if as_json:
        for row in shown:
            typer.echo(as_line(row))
    else:
        table(answer.columns, [list(row.values()) for row in shown])
    if len(rows) > MOST:
        typer.echo(f"there are more than {MOST:,} rows: --to writes all of them", err=True)


def _write(answer: DataFrame, to: str) -> None:
    kind = FORMATS[PurePath(to).suffix]
    options = {"header": "true"} if kind == "csv" else {}
    answer.write.format(kind).options(**options).save(to)
    typer.echo(f"The answer is in {to}.")
