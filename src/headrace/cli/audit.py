"""`audit`: check the counters of queues, and compare a lake with the server."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from headrace.cli import options
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.output import counted, print_json, say, warn_of_problems

if TYPE_CHECKING:
    from headrace.spark.compare_with_server import Comparison


@options.command("audit")
@click.option("--lake", metavar="DIR", help="Also compare the server with this lake.")
def audit(lake: str | None, server: ServerOptions) -> None:
    """Check that the books of all queues balance.

    The books are the counters of each queue. The books balance if the counters match the jobs that
    exist. With --lake, the command also computes the books and the daily statistics from the
    history in the lake, and compares them with the server. The exit code is 1 if a check fails.
    """
    with open_client(server) as client:
        found = client.audit()
    checked = f"checked {counted(found.jobs, 'job')} in {counted(found.queues, 'queue')}"
    facts: dict[str, Any] = {"balanced": found.balanced, **asdict(found)}
    compared = None
    if lake is not None:
        from headrace.cli.lake.queries import compare_with_server  # noqa: PLC0415 - needs pyspark

        compared = compare_with_server(lake, server)
        facts["lake"] = {"equal": compared.equal, **asdict(compared)}
    if not print_json(facts):
        if found.balanced:
            say(f"{checked}: the books balance")
        if compared is not None:
            show_comparison(compared)
    if not found.balanced:
        warn_of_problems(f"{checked}: the books do not balance", found.problems)
    if compared is not None and not compared.equal:
        warn_of_problems("the lake and the server differ", compared.differences)
    if not found.balanced or (compared is not None and not compared.equal):
        sys.exit(1)


def show_comparison(compared: Comparison) -> None:
    """Print the number of compared figures, and the parts that were not compared."""
    for words in compared.left_out:
        say(f"not compared: {words}")
    if not compared.values:
        say("the lake has nothing to compare")
    elif compared.equal:
        say(
            f"compared {counted(compared.values, 'figure')} of "
            f"{counted(compared.queues, 'queue')} and {counted(compared.days, 'day')}: "
            "the lake and the server agree"
        )
