"""The last part of the demo: what happened becomes files, tables, an answer and a picture."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from headrace.cli.demo.place import Place
from headrace.cli.demo.screen import Screen
from headrace.cli.lake.starting import spark_session
from headrace.cli.words import counted, size
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace import Client
    from headrace.lake.lake import Lake
    from headrace.spark.options import ServerOptions
    from headrace.spark.query import HistoryView

EXTRA = ("pyspark", "pyarrow", "pandas", "matplotlib", "plotext")
INSTALL = "pip install 'headrace[spark]'"
QUESTION = """\
select worker, attempts, completed, attempts - completed as other,
       round(utilisation, 1) as at_once
from workers order by first"""


def is_possible() -> bool:
    """Whether the extra is installed."""
    return all(find_spec(package) is not None for package in EXTRA)


def keep(hr: Client, place: Place, screen: Screen, found: dict[str, Any]) -> None:
    """The history of a demo: into a lake, and what can be done with it there."""
    began = time.monotonic()
    screen.say("spark", "starts, for what happened as files and tables; it takes some seconds")
    with spark_session(announced=False) as spark:
        from headrace.spark.query import open_history  # noqa: PLC0415 - of the extra

        started = time.monotonic() - began
        lake = _sync(spark, place, screen, found)
        _rollup(spark, lake, screen)
        with open_history(spark, lake) as history:
            _ask(history, screen)
            _draw(history, place, screen)
        _compare(spark, lake, hr, place, screen, found)
    found["history"] |= {"start_seconds": started, "seconds": time.monotonic() - began}


def _sync(spark: SparkSession, place: Place, screen: Screen, found: dict[str, Any]) -> Lake:
    from headrace.lake.files import LocalFiles  # noqa: PLC0415 - of the extra
    from headrace.lake.lake import Lake  # noqa: PLC0415
    from headrace.spark.pipeline import sync  # noqa: PLC0415

    files = LocalFiles(place.lake)
    batches = list(sync(spark, _server(place), files))
    events, many = sum(batch.events for batch in batches), sum(batch.files for batch in batches)
    bytes_ = sum(batch.bytes for batch in batches)
    seconds = sum(batch.seconds for batch in batches)
    found["history"] = {"lake": str(place.lake), "events": events, "bytes": bytes_}
    screen.say(
        "lake",
        f"[bold]{events:,} events[/bold] are now {counted(many, 'Parquet file')}, "
        f"{size(bytes_)}, in {seconds:.1f} s;\nthe server may forget what is there",
    )
    return Lake.open(files)


def _rollup(spark: SparkSession, lake: Lake, screen: Screen) -> None:
    from headrace.spark.rollup import rollup  # noqa: PLC0415 - of the extra

    seconds = sum(run.seconds for run in rollup(spark, lake))
    screen.say(
        "rollup",
        f"tables of the day in {seconds:.1f} s:\n"
        "attempts, jobs, daily, failures, workers, throughput",
    )


def _ask(history: HistoryView, screen: Screen) -> None:
    from headrace.spark.query import create_views  # noqa: PLC0415 - of the extra

    create_views(history, QUESTION)
    screen.say("sql", "".join(f"[dim]{line}[/dim]\n" for line in QUESTION.splitlines())[:-1])
    screen.show(_shown(history.spark.sql(QUESTION)))


def _shown(answer: DataFrame) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for name, kind in answer.dtypes:
        table.add_column(name, justify="left" if kind == "string" else "right", no_wrap=True)
    for row in answer.collect():
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    return table


def _draw(history: HistoryView, place: Place, screen: Screen) -> None:
    from headrace.spark import plots  # noqa: PLC0415 - of the extra

    drawn = plots.picture(history.table("attempts"), history.table("daily"))
    plots.save(drawn, place.picture)
    screen.say("plot", f"{drawn.title}; with the waiting times in\n{place.picture}")
    screen.show(Text.from_ansi(plots.text(drawn)))


def _compare(
    spark: SparkSession,
    lake: Lake,
    hr: Client,
    place: Place,
    screen: Screen,
    found: dict[str, Any],
) -> None:
    from headrace.spark.comparison import compare  # noqa: PLC0415 - of the extra

    compared = compare(spark, lake, _server(place), hr)
    found["history"]["compared"] = compared.values
    if not compared.equal:
        raise HeadraceError(f"the lake and the server differ: {compared.differences[0]}")
    screen.say(
        "equal",
        f"{compared.values:,} figures of {counted(compared.queues, 'queue')} are the same in the "
        "tables of\nthe lake and [bold green]in what the server has counted[/bold green]",
    )


def _server(place: Place) -> ServerOptions:
    from headrace.spark.options import ServerOptions  # noqa: PLC0415 - of the extra

    return ServerOptions(url=place.url, namespace=place.namespace)
