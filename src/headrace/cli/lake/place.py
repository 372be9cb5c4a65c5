"""Where a lake is: a directory, or a path with a scheme that Spark knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.server import HERE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.lake.files import Files

DEFAULT = str(HERE / "lake")
_ABOUT = "The lake: a directory, or a path that Spark knows (hdfs://, s3a://)."


def _named(place: str) -> str:
    if not place.strip():
        raise typer.BadParameter("it is empty; name a directory, or a path that Spark knows")
    return place


At = Annotated[str, typer.Option("--lake", metavar="DIR", help=_ABOUT, callback=_named)]
Grace = Annotated[
    str,
    typer.Option("--grace", metavar="SPAN", help="How long what is replaced stays for readers."),
]
To = Annotated[str, typer.Option("--to", "--lake", metavar="DIR", help=_ABOUT, callback=_named)]


def needs_spark(place: str) -> bool:
    """Whether only Spark knows how to read what is there."""
    return "://" in place


def files_at(place: str, spark: SparkSession | None = None) -> Files:
    """The files of a lake at a place."""
    if needs_spark(place) and spark is not None:
        from headrace.spark.hadoop_files import HadoopFiles  # noqa: PLC0415 - pyspark

        return HadoopFiles(spark, place)
    from headrace.lake.files import LocalFiles  # noqa: PLC0415 - msgspec takes long to load

    return LocalFiles(place)
