"""The last part of the demo: the events become files, tables, a query result and a plot."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession
from rich.text import Text

from headrace.cli.connecting import ServerOptions
from headrace.cli.demo.run import DemoRun
from headrace.cli.lake.spark_session import spark_server, spark_session
from headrace.cli.output import counted, size
from headrace.errors import HeadraceError
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.spark import plots
from headrace.spark.comparison import compare
from headrace.spark.options import ServerAddress
from headrace.spark.pipeline import sync
from headrace.spark.query import HistoryView, create_views, open_history
from headrace.spark.rollup import rollup

QUERY = """\
select worker, attempts, completed, attempts - completed as other,
       round(utilisation, 1) as at_once
from workers order by first"""


def keep(demo: DemoRun) -> None:
    """Copy the events of a demo into a lake, query and plot them, and compare the totals."""
    environment, start = demo.environment, time.monotonic()
    demo.say("spark", "starting, to keep the history as files and tables; takes some seconds")
    with spark_session(announced=False) as spark:
        ready = time.monotonic() - start
        server = spark_server(ServerOptions(environment.url, environment.namespace))
        lake = _sync(spark, server, demo)
        seconds = sum(run.seconds for run in rollup(spark, lake))
        demo.say(
            "rollup",
            f"tables of the day in {seconds:.1f} s:\n"
            "attempts, jobs, daily, failures, workers, throughput",
        )
        with open_history(spark, lake) as history:
            _query(history, demo)
            _plot(history, demo)
        _compare(spark, lake, server, demo)
    demo.found["history"] |= {"start_seconds": ready, "seconds": time.monotonic() - start}


def _sync(spark: SparkSession, server: ServerAddress, demo: DemoRun) -> Lake:
    environment = demo.environment
    files = LocalFiles(environment.lake)
    batches = list(sync(spark, server, files))
    events, written = sum(batch.events for batch in batches), sum(batch.bytes for batch in batches)
    parquet = counted(sum(batch.files for batch in batches), "Parquet file")
    seconds = sum(batch.seconds for batch in batches)
    demo.found["history"] = {"lake": str(environment.lake), "events": events, "bytes": written}
    demo.say(
        "lake",
        f"[bold]{events:,} events[/bold] copied into {parquet}, {size(written)}, "
        f"in {seconds:.1f} s;\nthe server may now delete them",
    )
    return Lake.open(files)


def _query(history: HistoryView, demo: DemoRun) -> None:
    create_views(history, QUERY)
    demo.say("sql", "".join(f"[dim]{line}[/dim]\n" for line in QUERY.splitlines())[:-1])
    answer = history.spark.sql(QUERY)
    demo.display.table(answer.columns, answer.collect())


def _plot(history: HistoryView, demo: DemoRun) -> None:
    environment = demo.environment
    picture = plots.picture(history.table("attempts"), history.table("daily"))
    plots.save(picture, environment.picture)
    demo.say("plot", f"{picture.title}; with waiting times in\n{environment.picture}")
    demo.display.show(Text.from_ansi(plots.text(picture)))


def _compare(spark: SparkSession, lake: Lake, server: ServerAddress, demo: DemoRun) -> None:
    compared = compare(spark, lake, server, demo.hr)
    demo.found["history"]["compared"] = compared.values
    if not compared.equal:
        raise HeadraceError(f"the lake and the server differ: {compared.differences[0]}")
    demo.say(
        "equal",
        f"{compared.values:,} figures of {counted(compared.queues, 'queue')} are the same in the "
        "lake\nand [bold green]in the statistics of the server[/bold green]",
    )
