"""The `headrace` command. A command lives in a module of its own and is listed here."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from headrace.cli import demo, server, work
from headrace.cli.doctor.command import doctor
from headrace.errors import HeadraceError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(server.up)
app.command()(server.down)
app.command()(demo.demo)
app.command()(doctor)
app.command()(work.work)


def _print_version(wanted: bool) -> None:  # noqa: FBT001  Typer hands it over by position
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415  only here, and not cheap

        typer.echo(version("headrace"))
        raise typer.Exit


@app.callback()
def headrace(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """A reliable, atomic, distributed work queue on Redis or Valkey."""


def main() -> None:
    """Run the command line; what Headrace refuses is one line and exit code 1."""
    try:
        app()
    except HeadraceError as error:
        lines = (line.strip() for line in str(error).splitlines())
        typer.echo(f"headrace: {' | '.join(filter(None, lines))}", err=True)
        sys.exit(1)
