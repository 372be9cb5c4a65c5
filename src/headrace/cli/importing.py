"""`import`: copy the jobs of another queue system into a namespace."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict

import click

from headrace import Client
from headrace.cli import options, output
from headrace.cli.bulk_changes import Approval
from headrace.cli.connecting import ServerOptions, open_client
from headrace.compat.importing import import_steps
from headrace.compat.importing.entries import ImportSource
from headrace.compat.importing.source_server import SourceServer

SYSTEMS = ("thoonk", "qless", "worqr", "redis-queue")


@options.command("import qless redis://old:6379 --dry-run", "import", server=False)
@click.argument(
    "system",
    type=click.Choice(SYSTEMS),
    metavar="SYSTEM",
    help=f"The queue system to import from: {', '.join(SYSTEMS)}.",
)
@click.argument("source_url", metavar="URL", help="URL of the Redis server that has the jobs.")
@options.url("--into-url", "Target server")
@options.namespace
@click.option("--prefix", metavar="TEXT", help="Prefix of the keys, if not the default prefix.")
@click.option(
    "--queue", "queues", metavar="QUEUE", multiple=True, help="Only this queue or feed; repeatable."
)
@options.yes
@click.option("--dry-run", is_flag=True, help="Count the items and import nothing.")
def import_command(
    system: str,
    source_url: str,
    url: str | None,
    namespace: str,
    prefix: str | None,
    queues: Sequence[str],
    yes: bool,
    dry_run: bool,
) -> None:
    """Import the jobs of thoonk, qless, worqr or redis-queue.

    The command counts the items, asks for a confirmation, imports the items, and then checks their
    number and order. After an interruption, run the same command again: no item is imported twice.
    The command only reads the source.
    """
    approval = Approval(dry_run, yes)
    source = ImportSource(SourceServer(source_url), system, prefix, tuple(queues))
    with source.server:
        with output.progress("counted", None) as advance:
            plan = import_steps.make_plan(source, advance)
        _show_plan(plan, source, approval)
        if not dry_run:
            items = output.counted(plan.counts.total(), "item")
            question = f"Import {items} into namespace {namespace!r}?"
            approval.require(question, "nothing was imported; pass --yes to import the items")
            with open_client(ServerOptions(url or None, namespace), create=True) as client:
                _carry_out(client, source, plan)


def _show_plan(plan: import_steps.ImportPlan, source: ImportSource, approval: Approval) -> None:
    if output.wants_json():
        if not approval.is_possible:
            output.print_json(_plan_fields(plan))
        return
    if plan.counts:
        rows = ((*key, f"{count:,}") for key, count in sorted(plan.counts.items()))
        output.table(("queue", "what", "count"), rows)
    output.say(f"Found {output.counted(plan.counts.total(), 'item')} of {source.system}.")
    for line in plan.left_out:
        output.say(f"left out: {line}", err=True)


def _plan_fields(plan: import_steps.ImportPlan) -> dict[str, object]:
    found = [
        {"queue": name, "what": what, "count": count}
        for (name, what), count in sorted(plan.counts.items())
    ]
    return {"import": plan.name, "found": found, "left_out": plan.left_out}


def _carry_out(client: Client, source: ImportSource, plan: import_steps.ImportPlan) -> None:
    try:
        with output.progress("imported", plan.counts.total()) as advance:
            result = import_steps.import_entries(client, source, plan, advance)
        with output.progress("verified", plan.counts.total()) as advance:
            check = import_steps.check_import(client, source, plan, advance)
    except KeyboardInterrupt:
        output.warn("interrupted; run the same command to continue")
        raise
    _report(plan, result, check)


def _report(
    plan: import_steps.ImportPlan,
    result: import_steps.ImportResult,
    check: import_steps.ImportCheck,
) -> None:
    fields = {
        **_plan_fields(plan),
        **asdict(result),
        "changed": check.changed,
        "verified": not check.problems,
        "problems": check.problems,
    }
    output.show(fields, _summary(result, check))
    if check.problems:
        output.warn_of_problems("the namespace differs from the source", check.problems)
        sys.exit(1)


def _summary(result: import_steps.ImportResult, check: import_steps.ImportCheck) -> str:
    parts = [f"{output.counted(result.imported, 'item')} imported"]
    if result.imported_before:
        parts.append(f"{result.imported_before:,} imported before")
    if result.renamed:
        parts.append(f"{result.renamed:,} imported under a new id, because another job has the id")
    parts.append(f"{check.counts.total():,} verified")
    if check.changed:
        parts.append(f"{check.changed:,} changed after the import")
    return "; ".join(parts) + "."
