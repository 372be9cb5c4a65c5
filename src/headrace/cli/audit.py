"""`audit`: check the books, and compare a lake with the server."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from headrace.cli import options
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.output import counted, print_json, printable, warn_of_problems

if TYPE_CHECKING:
    from headrace.spark.comparison import Comparison


@options.command("audit")
@click.option("--lake", metavar="DIR", help="Also compare the server with this lake.")
def audit(lake: str | None, server: ServerOptions) -> None:
    """Check that the books of all queues balance.

    With --lake, also check that its history gives the same books and daily statistics as the
    server. The exit code is 1 if a check fails.
    """
    with open_client(server) as client:
        found = client.audit()
    compared = _compare(lake, server) if lake is not None else None
    checked = f"checked {counted(found.jobs, 'job')} in {counted(found.queues, 'queue')}"
    facts: dict[str, Any] = {"balanced": found.balanced, **asdict(found)}
    if compared is not None:
        facts["lake"] = {"equal": compared.equal, **asdict(compared)}
    if not print_json(facts):
        if found.balanced:
            click.echo(f"{checked}: the books balance")
        if compared is not None:
            show_comparison(compared)
    if not found.balanced:
        warn_of_problems(f"{checked}: the books do not balance", found.problems)
    if compared is not None and not compared.equal:
        warn_of_problems("the lake and the server differ", compared.differences)
    if not found.balanced or (compared is not None and not compared.equal):
        sys.exit(1)


def _compare(lake: str, server: ServerOptions) -> Comparison:
    from headrace.cli.lake.queries import compare_with_server  # noqa: PLC0415 - needs pyspark

    return compare_with_server(lake, server)


def show_comparison(compared: Comparison) -> None:
    """Print what was compared, and what was not."""
    for words in compared.left_out:
        click.echo(f"not compared: {printable(words)}")
    if not compared.values:
        click.echo("the lake has nothing to compare")
    elif compared.equal:
        click.echo(
            f"compared {counted(compared.values, 'figure')} of "
            f"{counted(compared.queues, 'queue')} and {counted(compared.days, 'day')}: "
            "the lake and the server agree"
        )
