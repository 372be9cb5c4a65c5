"""`lake plot`: a picture of the history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.lake.place import DEFAULT, At, files_at
from headrace.cli.lake.starting import spark_session
from headrace.cli.show import AsJson, as_line
from headrace.errors import InvalidArgument

if TYPE_CHECKING:
    from headrace.spark.plots import Picture

KINDS = (".png", ".svg", ".pdf")


def plot(
    *,
    lake: At = DEFAULT,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="Draw it there as well: .png, .svg or .pdf."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw what ended when, as of the last sync; a file also has how long jobs waited."""
    from headrace.lake.lake import Lake  # noqa: PLC0415 - msgspec takes long to load

    if to is not None and to.suffix not in KINDS:
        raise InvalidArgument(f"--to must end with one of {', '.join(KINDS)}, not {str(to)!r}")
    with spark_session() as spark:
        from headrace.spark import plots  # noqa: PLC0415 - pyspark
        from headrace.spark.query import open_history  # noqa: PLC0415

        with open_history(spark, Lake.open(files_at(lake, spark))) as history:
            drawn = plots.picture(history.table("attempts"), history.table("daily"))
    if to is not None:
        plots.save(drawn, to)
    if as_json:
        typer.echo(as_line(drawn))
    else:
        _show(drawn, to)


def _show(drawn: Picture, to: Path | None) -> None:
    from rich.console import Console  # noqa: PLC0415 - rich takes long to load
    from rich.text import Text  # noqa: PLC0415

    from headrace.spark import plots  # noqa: PLC0415 - pyspark

    console = Console(highlight=False)
    console.print(drawn.title)
    console.print(Text.from_ansi(plots.text(drawn, min(console.width, plots.WIDTH))))
    if to is not None:
        console.print(f"The picture is in {to}.", soft_wrap=True)
