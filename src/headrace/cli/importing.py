"""`import`: copy the jobs of another queue into a namespace."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.bulk import progress
from headrace.cli.opening import opened
from headrace.cli.options import Namespace
from headrace.cli.show import AsJson, as_line, printable, table
from headrace.cli.words import counted

if TYPE_CHECKING:
    from headrace import Client
    from headrace.compat.importing.entries import ImportSource
    from headrace.compat.importing.run import ImportCheck, ImportPlan, ImportResult

SYSTEMS = ("thoonk", "qless", "worqr", "redis-queue")


def check_system(given: str) -> str:
    """Return the name of a system that can be imported."""
    if given not in SYSTEMS:
        raise typer.BadParameter(f"unknown system {given!r}; choose from: {', '.join(SYSTEMS)}")
    return given


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """How to carry out an import."""

    dry_run: bool
    ask: bool
    as_json: bool

    @property
    def will_import(self) -> bool:
        """Whether anything is imported: not without --yes if no terminal can confirm."""
        return not self.dry_run and (not self.ask or sys.stdin.isatty())


def import_(
    *,
    system: Annotated[
        str,
        typer.Argument(
            parser=check_system, metavar="SYSTEM", help=f"The other queue: {', '.join(SYSTEMS)}."
        ),
    ],
    url: Annotated[str, typer.Argument(metavar="URL", help="Server of the other queue.")],
    into: Annotated[
        str | None,
        typer.Option(
            "--into-url",
            envvar="HEADRACE_URL",
            show_envvar=False,
            metavar="URL",
            help="Target server; default: HEADRACE_URL, or the embedded server of this directory.",
        ),
    ] = None,
    namespace: Namespace = "default",
    prefix: Annotated[
        str | None, typer.Option("--prefix", help="Prefix of its keys, if it is not the usual one.")
    ] = None,
    queues: Annotated[
        list[str] | None,
        typer.Option("--queue", metavar="QUEUE", help="Only this queue or feed; repeatable."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Import without asking.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count what would be imported.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import the jobs of thoonk, qless, worqr or redis-queue.

    The command counts first, imports after a confirmation, then checks counts and order. After an
    interruption, run the same command again: it imports nothing twice. The source is only read.
    """
    request = ImportRequest(dry_run, not yes, as_json)
    from headrace.compat.importing.run import make_plan, open_source  # noqa: PLC0415 - redis

    source = open_source(url, system, prefix, queues or ())
    with source.server:
        with progress("counted", None) as advance:
            plan = make_plan(source, advance)
        if _confirmed(plan, source, namespace, request):
            with opened(into, namespace, make=True) as client:
                _carry_out(client, source, plan, request)


def _confirmed(
    plan: ImportPlan, source: ImportSource, namespace: str, request: ImportRequest
) -> bool:
    _show_plan(plan, source, request)
    if request.dry_run:
        return False
    if not request.will_import:
        typer.echo("headrace: nothing was imported; pass --yes to import it", err=True)
        raise typer.Exit(1)
    if request.ask:
        items = counted(plan.counts.total(), "item")
        question = f"Import {items} into namespace {namespace!r}?"
        typer.confirm(question, abort=True, err=True)
    return True


def _show_plan(plan: ImportPlan, source: ImportSource, request: ImportRequest) -> None:
    if request.as_json:
        if not request.will_import:
            typer.echo(as_line({"import": plan.name, **_plan_fields(plan)}))
        return
    rows = [(name, what, f"{count:,}") for (name, what), count in sorted(plan.counts.items())]
    if rows:
        table(("queue", "what", "count"), rows)
    typer.echo(f"Found {counted(plan.counts.total(), 'item')} of {source.system}.")
    for line in plan.left_out:
        typer.echo(f"left out: {printable(line)}", err=True)


def _plan_fields(plan: ImportPlan) -> dict[str, object]:
    found = [
        {"queue": name, "what": what, "count": count}
        for (name, what), count in sorted(plan.counts.items())
    ]
    return {"found": found, "left_out": plan.left_out}


def _carry_out(
    client: Client, source: ImportSource, plan: ImportPlan, request: ImportRequest
) -> None:
    from headrace.compat.importing.run import check_import, import_entries  # noqa: PLC0415 - redis

    try:
        with progress("imported", plan.counts.total()) as advance:
            result = import_entries(client, source, plan, advance)
        with progress("verified", plan.counts.total()) as advance:
            check = check_import(client, source, plan, advance)
    except KeyboardInterrupt:
        typer.echo("headrace: interrupted; run the same command to continue", err=True)
        raise
    _report(plan, result, check, request)


def _report(
    plan: ImportPlan, result: ImportResult, check: ImportCheck, request: ImportRequest
) -> None:
    problems = check.problems
    if request.as_json:
        fields = {
            "import": plan.name,
            **_plan_fields(plan),
            "imported": result.imported,
            "imported_before": result.imported_before,
            "renamed": result.renamed,
            "changed": check.changed,
            "verified": not problems,
            "problems": problems,
        }
        typer.echo(as_line(fields))
    else:
        typer.echo(_summary(result, check))
    if problems:
        more = f" ({len(problems) - 1:,} more: --json lists them)" if len(problems) > 1 else ""
        typer.echo(f"headrace: differs from the source: {printable(problems[0])}{more}", err=True)
        raise typer.Exit(1)


def _summary(result: ImportResult, check: ImportCheck) -> str:
    parts = [f"{counted(result.imported, 'item')} imported"]
    if result.imported_before:
        parts.append(f"{result.imported_before:,} imported before")
    if result.renamed:
        parts.append(f"{result.renamed:,} got a new id because theirs was taken")
    parts.append(f"{check.counts.total():,} verified")
    if check.changed:
        parts.append(f"{check.changed:,} changed since they were imported")
    return "; ".join(parts) + "."
