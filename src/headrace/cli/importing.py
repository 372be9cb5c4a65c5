"""`import`: what another queue left on a server comes here."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.bulk import progress
from headrace.cli.opening import opened
from headrace.cli.options import Namespace
from headrace.cli.show import AsJson, as_line, printable, table
from headrace.cli.words import counted
from headrace.errors import InvalidArgument

if TYPE_CHECKING:
    from headrace import Client
    from headrace.compat.importing.bringing import Brought, Plan
    from headrace.compat.importing.found import Place
    from headrace.compat.importing.verifying import Verified

SYSTEMS = ("thoonk", "qless", "worqr", "redis-queue")


def system_of(given: str) -> str:
    """A system, if it is one."""
    if given not in SYSTEMS:
        raise typer.BadParameter(f"no system {given!r}; there are: {', '.join(SYSTEMS)}")
    return given


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for."""

    bring: bool
    ask: bool
    delete: bool
    as_json: bool

    @property
    def will_bring(self) -> bool:
        """Whether things are brought; not where nobody has agreed, nor can be asked."""
        return self.bring and (not self.ask or sys.stdin.isatty())


def import_(
    *,
    system: Annotated[
        str, typer.Argument(parser=system_of, metavar="SYSTEM", help=f"{', '.join(SYSTEMS)}.")
    ],
    source: Annotated[str, typer.Argument(metavar="URL", help="The server that has its keys.")],
    into: Annotated[
        str | None,
        typer.Option(
            "--into-url",
            envvar="HEADRACE_URL",
            show_envvar=False,
            metavar="URL",
            help="Where to; HEADRACE_URL, or else the embedded server of this directory.",
        ),
    ] = None,
    namespace: Namespace = "default",
    prefix: Annotated[
        str | None, typer.Option("--prefix", help="What its keys begin with, if not as usual.")
    ] = None,
    queues: Annotated[
        list[str] | None,
        typer.Option("--queue", metavar="QUEUE", help="Only this queue or feed; may be repeated."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Bring it without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what there is.")] = False,
    delete: Annotated[
        bool,
        typer.Option("--delete-source", help="Delete it there, once it is verified to be here."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring over what thoonk, qless, worqr or redis-queue left on a server.

    It is counted first, brought when you say so, and then compared with the source. Interrupted,
    the same command goes on: nothing comes twice. The source is only read.
    """
    if delete and queues:
        raise InvalidArgument("--delete-source deletes all of it: leave out --queue")
    wish = Wish(not dry_run, not yes, delete, as_json)
    from headrace.compat.importing.bringing import place_of, planned  # noqa: PLC0415 - redis

    place = place_of(source, system, prefix, queues or ())
    with closing(place.source):
        with progress("counted", None) as advance:
            plan = planned(place, advance)
        if _agreed(plan, place, namespace, wish):
            with opened(into, namespace, make=True) as client:
                _carry_out(client, place, plan, wish)


def _agreed(plan: Plan, place: Place, namespace: str, wish: Wish) -> bool:
    total = plan.tally.total
    _show(plan, place, wish)
    if not wish.bring:
        return False
    if not wish.will_bring:
        typer.echo("headrace: nothing was brought; --yes brings it", err=True)
        raise typer.Exit(1)
    if wish.ask:
        ends = ", and delete it at the source" if wish.delete else ""
        question = f"Bring {counted(total, 'thing')} into namespace {namespace!r}{ends}?"
        typer.confirm(question, abort=True, err=True)
    return True


def _show(plan: Plan, place: Place, wish: Wish) -> None:
    if wish.as_json:
        if not wish.will_bring:
            typer.echo(as_line({"import": plan.name, **_figures(plan)}))
        return
    rows = [
        (name, what, f"{found.count:,}", found.digest)
        for (name, what), found in sorted(plan.tally.sums.items())
    ]
    if rows:
        table(("queue", "what", "count", "digest"), rows)
    typer.echo(f"{counted(plan.tally.total, 'thing')} of {place.system}.")
    for line in plan.left_out:
        typer.echo(f"left out: {printable(line)}", err=True)


def _figures(plan: Plan) -> dict[str, object]:
    found = [
        {"queue": name, "what": what, "count": each.count, "digest": each.digest}
        for (name, what), each in sorted(plan.tally.sums.items())
    ]
    return {"found": found, "left_out": plan.left_out}


def _carry_out(client: Client, place: Place, plan: Plan, wish: Wish) -> None:
    from headrace.compat.importing.bringing import bring  # noqa: PLC0415 - redis takes long to load
    from headrace.compat.importing.verifying import delete_verified, verify  # noqa: PLC0415

    try:
        with progress("brought", plan.tally.total) as advance:
            brought = bring(client, place, plan, advance)
        with progress("verified", plan.tally.total) as advance:
            check = delete_verified if wish.delete else verify
            verified = check(client, place, plan, advance)
    except KeyboardInterrupt:
        typer.echo("headrace: interrupted; the same command goes on", err=True)
        raise
    _tell(plan, brought, verified, wish)


def _tell(plan: Plan, brought: Brought, verified: Verified, wish: Wish) -> None:
    faults = verified.faults
    if wish.as_json:
        facts = {
            "import": plan.name,
            **_figures(plan),
            "brought": brought.made,
            "known": brought.known,
            "renamed": brought.renamed,
            "moved_on": verified.moved_on,
            "verified": not faults,
            "faults": faults,
            "deleted": wish.delete and not faults,
        }
        typer.echo(as_line(facts))
    else:
        typer.echo(_sentence(plan, brought, verified, wish))
    if faults:
        more = f" ({len(faults) - 1:,} more: --json lists them)" if len(faults) > 1 else ""
        typer.echo(f"headrace: not as at the source: {printable(faults[0])}{more}", err=True)
        raise typer.Exit(1)


def _sentence(plan: Plan, brought: Brought, verified: Verified, wish: Wish) -> str:
    parts = [f"{counted(brought.made, 'thing')} brought"]
    if brought.known:
        parts.append(f"{brought.known:,} had come before")
    if brought.renamed:
        parts.append(f"{brought.renamed:,} got another id, as theirs was taken")
    parts.append(f"{verified.here.total:,} verified")
    if verified.moved_on:
        parts.append(f"{verified.moved_on:,} have moved on since they came")
    if wish.delete and not verified.faults:
        but = " but for what was left out" if plan.left_out else ""
        parts.append(f"deleted at the source{but}")
    return "; ".join(parts) + "."
