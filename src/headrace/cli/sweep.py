"""`sweep`: one turn of the housekeeping that workers do as they work."""

from __future__ import annotations

import typer

from headrace.cli.opening import opened
from headrace.cli.options import Namespace, Url
from headrace.cli.show import AsJson, as_line, printable
from headrace.cli.words import counted


def sweep(*, url: Url = None, namespace: Namespace = "default", as_json: AsJson = False) -> None:
    """Do the housekeeping once that workers do as they work; for when none does.

    What dead workers held goes back, what is due starts to wait, what is too old goes. Writes from
    Spark whose driver died are brought to their end, and named.
    """
    with opened(url, namespace) as client:
        finished = client.sweep()
    if as_json:
        typer.echo(as_line({"finished": finished}))
        return
    typer.echo(f"swept; {counted(len(finished), 'write')} from Spark brought to an end")
    for write in finished:
        batch = "" if write.batch is None else f", batch {write.batch}"
        lost = f"; lost: {sum(write.lost.values()):,}" if write.lost else ""
        typer.echo(
            f"{printable(write.id)}{batch}: {counted(write.rows, 'row')} into "
            f"{printable(write.queue)}{lost}"
        )
