"""`doctor`: what is well and what is not, as a table or for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.doctor.finding import NOT_APPLICABLE, OK, PROBLEM, WARNING, Checked
from headrace.cli.options import Namespace, Url
from headrace.cli.show import AsJson, printable

if TYPE_CHECKING:
    from rich.table import Table

STYLES = {OK: "green", WARNING: "yellow", PROBLEM: "bold red", NOT_APPLICABLE: "dim"}
SHOWN = {NOT_APPLICABLE: "n/a"}

Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 for warnings, too.")]


def doctor(
    *,
    url: Url = None,
    namespace: Namespace = "default",
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Look at the server, the namespace and this machine; say what is wrong and what to do.

    It changes nothing. Exit code 1 if there is a problem.
    """
    # Here, because the other commands do not wait for them to be loaded.
    from rich.console import Console  # noqa: PLC0415

    from headrace.cli.doctor.examine import examine  # noqa: PLC0415

    from_environment = url == os.environ.get("HEADRACE_URL")
    checks = []
    with Console(stderr=True).status("looking") as status:
        for checked in examine(url or None, namespace, from_environment=from_environment):
            status.update(f"looked at {checked.check}")
            checks.append(checked)
    console = Console(highlight=False)
    if as_json:
        typer.echo(json.dumps(report(checks)))
    elif console.is_terminal:
        console.print(table(checks))
    else:
        typer.echo("\n".join(lines(checks)))
    if not as_json:
        typer.echo(f"\n{summary(checks)}")
    if _count(checks, PROBLEM) or (strict and _count(checks, WARNING)):
        raise typer.Exit(1)


def report(checks: Iterable[Checked]) -> dict[str, object]:
    """What programs are told."""
    every = list(checks)
    return {
        "problems": _count(every, PROBLEM),
        "warnings": _count(every, WARNING),
        "checks": [asdict(checked) for checked in every],
    }


def _count(checks: Iterable[Checked], verdict: str) -> int:
    return sum(checked.verdict == verdict for checked in checks)


def summary(checks: list[Checked]) -> str:
    """The end of what people are told."""
    problems, warnings = _count(checks, PROBLEM), _count(checks, WARNING)
    return f"{len(checks)} checks, problems: {problems}, warnings: {warnings}"


def table(checks: list[Checked]) -> Table:
    """What people are told on a terminal."""
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    grid = Table.grid(padding=(0, 2))
    for checked in checks:
        verdict, name, found, advice = _words(checked)
        grid.add_row(Text(verdict, STYLES[checked.verdict]), Text(name, "bold"), Text(found))
        if advice:
            grid.add_row("", "", Text(f"do: {advice}", "italic"))
    return grid


def lines(checks: list[Checked]) -> Iterator[str]:
    """The same where it is piped: a line for each check, however long."""
    for checked in checks:
        verdict, name, found, advice = _words(checked)
        yield f"{verdict:<8} {name:<14} {found}" + (f"; do: {advice}" if advice else "")


def _words(checked: Checked) -> tuple[str, str, str, str]:
    name = f"{checked.check} {checked.node}".strip()
    verdict = SHOWN.get(checked.verdict, checked.verdict)
    return verdict, name, printable(checked.found), printable(checked.advice)
