"""`doctor`: check the server, the namespace and this machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from headrace.cli import options
from headrace.cli.connecting import ServerOptions
from headrace.cli.doctor.examine import examine
from headrace.cli.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, WARNING, CheckResult
from headrace.cli.output import printable

STYLES = {OK: "green", WARNING: "yellow", PROBLEM: "bold red", NOT_APPLICABLE: "dim"}
SHOWN = {NOT_APPLICABLE: "n/a"}


@click.command(epilog="Example: headrace doctor --strict")
@options.server
@click.option("--strict", is_flag=True, help="Also exit with 1 if there is a warning.")
@options.as_json
def doctor(server: ServerOptions, strict: bool, as_json: bool) -> None:
    """Check the server, the namespace and this machine, and advise.

    Changes nothing. The exit code is 1 if there is a problem.
    """
    from_environment = server.url == os.environ.get("HEADRACE_URL")
    checks = []
    with Console(stderr=True).status("checking") as status:
        for result in examine(server, from_environment=from_environment):
            status.update(f"checked {result.check}")
            checks.append(result)
    console = Console(highlight=False)
    if as_json:
        click.echo(json.dumps(report(checks)))
    elif console.is_terminal:
        console.print(table(checks))
    else:
        click.echo("\n".join(lines(checks)))
    if not as_json:
        click.echo(f"\n{summary(checks)}")
    if _count(checks, PROBLEM) or (strict and _count(checks, WARNING)):
        sys.exit(1)


def report(checks: Iterable[CheckResult]) -> dict[str, object]:
    """Return the JSON report."""
    every = list(checks)
    return {
        "problems": _count(every, PROBLEM),
        "warnings": _count(every, WARNING),
        "checks": [asdict(result) for result in every],
    }


def _count(checks: Iterable[CheckResult], verdict: str) -> int:
    return sum(result.verdict == verdict for result in checks)


def summary(checks: list[CheckResult]) -> str:
    """Return the last line of the report."""
    problems, warnings = _count(checks, PROBLEM), _count(checks, WARNING)
    return f"{len(checks)} checks, problems: {problems}, warnings: {warnings}"


def table(checks: list[CheckResult]) -> Table:
    """Return the report for a terminal."""
    grid = Table.grid(padding=(0, 2))
    for result in checks:
        verdict, name, found, advice = _words(result)
        grid.add_row(Text(verdict, STYLES[result.verdict]), Text(name, "bold"), Text(found))
        if advice:
            grid.add_row("", "", Text(f"do: {advice}", "italic"))
    return grid


def lines(checks: list[CheckResult]) -> Iterator[str]:
    """Yield one line for each check, for a pipe."""
    for result in checks:
        verdict, name, found, advice = _words(result)
        yield f"{verdict:<8} {name:<14} {found}" + (f"; do: {advice}" if advice else "")


def _words(result: CheckResult) -> tuple[str, str, str, str]:
    name = f"{result.check} {result.node}".strip()
    verdict = SHOWN.get(result.verdict, result.verdict)
    return verdict, name, printable(result.found), printable(result.advice)
