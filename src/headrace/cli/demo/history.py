"""The last part of the demo: copy the events into a lake, run a query and draw a plot."""

from __future__ import annotations

from pyspark.sql import SparkSession

from headrace.cli.connecting import ServerOptions
from headrace.cli.demo.report import DemoRun
from headrace.cli.lake.spark_session import spark_server, spark_session
from headrace.cli.lake.sync import SyncTotal
from headrace.cli.output import aligned, counted, size
from headrace.demo import NAMESPACE
from headrace.errors import HeadraceError
from headrace.lake.files import LocalFiles
from headrace.lake.lake import Lake
from headrace.spark import plots
from headrace.spark.compare_with_server import compare
from headrace.spark.options import ServerAddress
from headrace.spark.pipeline import sync
from headrace.spark.query import HistoryView, create_views, open_history
from headrace.spark.rollup import rollup

QUERY = """\
select worker, attempts, completed, attempts - completed as other,
       round(utilisation, 1) as at_once
from workers order by first"""


def keep(demo: DemoRun) -> None:
    """Copy the events into a lake, query and plot them, and compare the lake with the server."""
    demo.say(
        "spark", "starting Spark to store the history as files and tables;\nthis takes seconds"
    )
    with spark_session(announced=False) as spark:
        server = spark_server(ServerOptions(demo.environment.url, NAMESPACE))
        lake = _sync(spark, server, demo)
        seconds = sum(run.seconds for run in rollup(spark, lake))
        demo.say(
            "rollup",
            f"built the tables of the day in {seconds:.1f} s:\n"
            "attempts, jobs, daily, failures, workers, throughput",
        )
        with open_history(spark, lake) as history:
            _query(history, demo)
            _plot(history, demo)
        _compare(spark, lake, server, demo)


def _sync(spark: SparkSession, server: ServerAddress, demo: DemoRun) -> Lake:
    files = LocalFiles(demo.environment.lake)
    total = SyncTotal(str(files))
    for batch in sync(spark, server, files):
        total.add(batch)
    demo.found["history"] = {"lake": total.lake, "events": total.events, "bytes": total.bytes}
    demo.say(
        "lake",
        f"[bold]{total.events:,} events[/bold] copied into "
        f"{counted(total.files, 'Parquet file')}, {size(total.bytes)}, in {total.seconds:.1f} s;\n"
        "the server may now delete the events",
    )
    return Lake.open(files)


def _query(history: HistoryView, demo: DemoRun) -> None:
    create_views(history, QUERY)
    demo.say("sql", "".join(f"[dim]{line}[/dim]\n" for line in QUERY.splitlines())[:-1])
    answer = history.spark.sql(QUERY)
    demo.show(aligned(answer.columns, answer.collect()))


def _plot(history: HistoryView, demo: DemoRun) -> None:
    environment = demo.environment
    picture = plots.picture(history.table("attempts"), history.table("daily"))
    plots.save(picture, environment.picture)
    demo.say("plot", f"{picture.title}; a plot with waiting times is in\n{environment.picture}")
    demo.show(plots.text(picture).splitlines())


def _compare(spark: SparkSession, lake: Lake, server: ServerAddress, demo: DemoRun) -> None:
    compared = compare(spark, lake, server, demo.hr)
    demo.found["history"]["compared"] = compared.values
    if not compared.equal:
        raise HeadraceError(f"the lake and the server differ: {compared.differences[0]}")
    demo.say(
        "equal",
        f"{compared.values:,} figures of {counted(compared.queues, 'queue')} are equal in "
        "the lake\nand [bold green]in the statistics of the server[/bold green]",
    )
