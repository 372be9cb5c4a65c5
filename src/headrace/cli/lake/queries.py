"""`lake sql` and `lake plot`, and the comparison of a lake with the server for `audit --lake`."""

from __future__ import annotations

from pathlib import Path, PurePath

import click
from pyspark.sql import DataFrame
from rich.console import Console
from rich.text import Text

from headrace.cli import options
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.lake.common import lake_option
from headrace.cli.lake.spark_session import files_at, spark_server, spark_session
from headrace.cli.output import print_json, say, table, wants_json
from headrace.errors import InvalidArgument
from headrace.lake.lake import Lake
from headrace.spark import plots
from headrace.spark.compare_with_server import Comparison, compare
from headrace.spark.csv_cells import CSV_OPTIONS, without_formulas
from headrace.spark.query import create_views, open_history, run_query

TABLE_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json"}
PICTURE_FORMATS = (".png", ".svg", ".pdf")
MAX_ROWS = 1000


@options.command(
    "lake sql \"select queue, day, wait_p99 from daily where by = 'all'\"",
    json_help=options.JSON_LINES,
)
@click.argument(
    "query",
    metavar="SELECT",
    help="A query of events, attempts, jobs, daily, failures, workers and throughput.",
)
@lake_option
@click.option("--live", is_flag=True, help="Include events that were not yet copied into the lake.")
@click.option("--to", metavar="PATH", help="Write the result to a .parquet, .csv or .json folder.")
@click.option("--unrestricted", is_flag=True, help="Let the query read any file and run programs.")
def sql(
    query: str, lake: str, live: bool, to: str | None, unrestricted: bool, server: ServerOptions
) -> None:
    """Query the history in SQL.

    Queries can only read the tables of the history. Without --live, a query needs no server and
    does not return events after the last sync. The command prints at most 1,000 rows. --to writes
    all rows to a folder of files.
    """
    if to is not None and PurePath(to).suffix not in TABLE_FORMATS:
        raise InvalidArgument(f"--to must end with one of {', '.join(TABLE_FORMATS)}, not {to!r}")
    if live:
        with open_client(server):
            """Raise before Spark starts if the namespace does not exist."""
    with spark_session() as spark:
        found = Lake.open(files_at(lake, spark))
        with open_history(spark, found, spark_server(server) if live else None) as history:
            create_views(history, query)
            answer = run_query(spark, query, unrestricted=unrestricted)
            if to is None:
                _show_rows(answer)
            else:
                _write(answer, to)


def _show_rows(answer: DataFrame) -> None:
    rows = answer.limit(MAX_ROWS + 1).collect()
    shown = [row.asDict(recursive=True) for row in rows[:MAX_ROWS]]
    if wants_json():
        for row in shown:
            print_json(row)
    else:
        table(answer.columns, [list(row.values()) for row in shown])
    if len(rows) > MAX_ROWS:
        say(f"the result has more than {MAX_ROWS:,} rows; --to writes all rows", err=True)


def _write(answer: DataFrame, to: str) -> None:
    kind = TABLE_FORMATS[PurePath(to).suffix]
    if kind == "csv":
        answer = without_formulas(answer)
    options = CSV_OPTIONS if kind == "csv" else {}
    answer.write.format(kind).options(**options).save(to)
    say(f"The result is in {to}.")


@options.command("lake plot --to history.png", server=False)
@lake_option
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write a .png, .svg or .pdf file, which also shows waiting times.",
)
def plot(lake: str, to: Path | None) -> None:
    """Plot how many attempts finished over time.

    The plot does not show events after the last sync.
    """
    if to is not None and to.suffix not in PICTURE_FORMATS:
        formats = ", ".join(PICTURE_FORMATS)
        raise InvalidArgument(f"--to must end with one of {formats}, not {str(to)!r}")
    with spark_session() as spark, open_history(spark, Lake.open(files_at(lake, spark))) as history:
        picture = plots.picture(history.table("attempts"), history.table("daily"))
    if to is not None:
        plots.save(picture, to)
    if print_json(picture):
        return
    console = Console(highlight=False)
    console.print(picture.title)
    console.print(Text.from_ansi(plots.text(picture, min(console.width, plots.WIDTH))))
    if to is not None:
        console.print(f"The plot is in {to}.", soft_wrap=True)


def compare_with_server(lake: str, server: ServerOptions) -> Comparison:
    """Compare the books and statistics of a lake with the books and statistics of the server."""
    with spark_session() as spark:
        return compare(spark, Lake.open(files_at(lake, spark)), spark_server(server))
