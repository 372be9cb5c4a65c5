"""`import`: copy the jobs of another queue into a namespace."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import click

from headrace import Client
from headrace.cli import options
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.output import counted, printable, progress, table, to_json, warn
from headrace.compat.importing.bringing import Brought, Plan, bring, place_of, planned
from headrace.compat.importing.found import Place
from headrace.compat.importing.verifying import Verified, delete_verified, verify
from headrace.errors import InvalidArgument

SYSTEMS = ("thoonk", "qless", "worqr", "redis-queue")


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """How to carry out an import."""

    bring: bool
    ask: bool
    delete: bool
    as_json: bool

    @property
    def will_bring(self) -> bool:
        """Whether the import starts; it needs --yes or a terminal to confirm it."""
        return self.bring and (not self.ask or sys.stdin.isatty())


@click.command("import", epilog="Example: headrace import worqr redis://localhost:6379/0 -n shop")
@click.argument(
    "system",
    type=options.one_of("system", SYSTEMS),
    metavar="SYSTEM",
    help=f"The other queue: {', '.join(SYSTEMS)}.",
)
@click.argument("source", metavar="URL", help="Server of the other queue.")
@click.option(
    "--into-url",
    "url",
    envvar="HEADRACE_URL",
    metavar="URL",
    help="Target server; default: HEADRACE_URL, or the embedded server of this directory.",
)
@options.namespace
@click.option("--prefix", metavar="TEXT", help="Prefix of its keys, if it is not the usual one.")
@click.option(
    "--queue", "queues", metavar="QUEUE", multiple=True, help="Only this queue or feed; repeatable."
)
@options.yes
@click.option("--dry-run", is_flag=True, help="Only count what would be imported.")
@click.option(
    "--delete-source", "delete", is_flag=True, help="Delete the source after verification."
)
@options.as_json
def import_command(
    system: str,
    source: str,
    url: str | None,
    namespace: str,
    prefix: str | None,
    queues: Sequence[str],
    yes: bool,
    dry_run: bool,
    delete: bool,
    as_json: bool,
) -> None:
    """Import the jobs of thoonk, qless, worqr or redis-queue.

    The command counts first, imports after a confirmation and then compares both sides. After an
    interruption, run the same command again: it imports nothing twice. The source is only read,
    unless you pass --delete-source.
    """
    if delete and queues:
        raise InvalidArgument("--delete-source deletes everything; do not pass --queue")
    request = ImportRequest(not dry_run, not yes, delete, as_json)
    place = place_of(source, system, prefix, queues)
    with closing(place.source):
        with progress("counted", None) as advance:
            plan = planned(place, advance)
        if _confirmed(plan, place, namespace, request):
            with open_client(ServerOptions(url or None, namespace), create=True) as client:
                _carry_out(client, place, plan, request)


def _confirmed(plan: Plan, place: Place, namespace: str, request: ImportRequest) -> bool:
    _show_plan(plan, place, request)
    if not request.bring:
        return False
    if not request.will_bring:
        warn("nothing was imported; pass --yes to import it")
        sys.exit(1)
    if request.ask:
        deleting = " and delete the source" if request.delete else ""
        items = counted(plan.tally.total, "item")
        question = f"Import {items} into namespace {namespace!r}{deleting}?"
        click.confirm(question, abort=True, err=True)
    return True


def _show_plan(plan: Plan, place: Place, request: ImportRequest) -> None:
    if request.as_json:
        if not request.will_bring:
            click.echo(to_json({"import": plan.name, **_figures(plan)}))
        return
    rows = [
        (name, what, f"{found.count:,}", found.digest)
        for (name, what), found in sorted(plan.tally.sums.items())
    ]
    if rows:
        table(("queue", "what", "count", "digest"), rows)
    click.echo(f"Found {counted(plan.tally.total, 'item')} of {place.system}.")
    for line in plan.left_out:
        click.echo(f"left out: {printable(line)}", err=True)


def _figures(plan: Plan) -> dict[str, object]:
    found = [
        {"queue": name, "what": what, "count": each.count, "digest": each.digest}
        for (name, what), each in sorted(plan.tally.sums.items())
    ]
    return {"found": found, "left_out": plan.left_out}


def _carry_out(client: Client, place: Place, plan: Plan, request: ImportRequest) -> None:
    try:
        with progress("imported", plan.tally.total) as advance:
            brought = bring(client, place, plan, advance)
        with progress("verified", plan.tally.total) as advance:
            check = delete_verified if request.delete else verify
            verified = check(client, place, plan, advance)
    except KeyboardInterrupt:
        warn("interrupted; run the same command to continue")
        raise
    _report(plan, brought, verified, request)


def _report(plan: Plan, brought: Brought, verified: Verified, request: ImportRequest) -> None:
    faults = verified.faults
    if request.as_json:
        facts = {
            "import": plan.name,
            **_figures(plan),
            "brought": brought.made,
            "known": brought.known,
            "renamed": brought.renamed,
            "moved_on": verified.moved_on,
            "verified": not faults,
            "faults": faults,
            "deleted": request.delete and not faults,
        }
        click.echo(to_json(facts))
    else:
        click.echo(_sentence(plan, brought, verified, request))
    if faults:
        more = f" ({len(faults) - 1:,} more: --json lists them)" if len(faults) > 1 else ""
        warn(f"differs from the source: {printable(faults[0])}{more}")
        sys.exit(1)


def _sentence(plan: Plan, brought: Brought, verified: Verified, request: ImportRequest) -> str:
    parts = [f"{counted(brought.made, 'item')} imported"]
    if brought.known:
        parts.append(f"{brought.known:,} imported before")
    if brought.renamed:
        parts.append(f"{brought.renamed:,} got a new id because theirs was taken")
    parts.append(f"{verified.here.total:,} verified")
    if verified.moved_on:
        parts.append(f"{verified.moved_on:,} changed since they were imported")
    if request.delete and not verified.faults:
        but = " except what was left out" if plan.left_out else ""
        parts.append(f"source deleted{but}")
    return "; ".join(parts) + "."
