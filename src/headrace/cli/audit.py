"""`audit`: whether the books balance."""

from __future__ import annotations

import typer

from headrace.cli.opening import opened
from headrace.cli.options import Namespace, Url
from headrace.cli.show import AsJson, as_line, printable
from headrace.cli.words import counted


def audit(*, url: Url = None, namespace: Namespace = "default", as_json: AsJson = False) -> None:
    """Tell whether the books of all queues balance; exit code 1 if not."""
    with opened(url, namespace) as client:
        found = client.audit()
    looked_at = f"{counted(found.jobs, 'job')} in {counted(found.queues, 'queue')} looked at"
    if as_json:
        facts = {"balanced": found.balanced, "queues": found.queues, "jobs": found.jobs}
        typer.echo(as_line({**facts, "problems": found.problems}))
    elif found.balanced:
        typer.echo(f"{looked_at}: the books balance")
    if found.balanced:
        return
    first, *others = found.problems
    more = f" ({len(others):,} more: --json lists them)" if others else ""
    typer.echo(
        f"headrace: {looked_at}: the books do not balance: {printable(first)}{more}", err=True
    )
    raise typer.Exit(1)
