"""`audit`: whether the books balance, and whether a lake counts what the server counts."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.lake.place import files_at
from headrace.cli.lake.starting import spark_session
from headrace.cli.opening import opened
from headrace.cli.options import Namespace, Url
from headrace.cli.show import AsJson, as_line, printable
from headrace.cli.words import counted

if TYPE_CHECKING:
    from headrace.spark.comparison import Comparison


def audit(
    *,
    lake: Annotated[
        str | None,
        typer.Option("--lake", metavar="DIR", help="Compare it with what this lake says, too."),
    ] = None,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Tell whether the books of all queues balance; exit code 1 if not.

    With --lake also whether its history gives the statistics of each queue and day that the server
    keeps, and its books.
    """
    with opened(url, namespace) as client:
        found = client.audit()
    compared = _compare(lake, url, namespace) if lake is not None else None
    looked_at = f"{counted(found.jobs, 'job')} in {counted(found.queues, 'queue')} looked at"
    if as_json:
        facts: dict[str, Any] = {
            "balanced": found.balanced,
            "queues": found.queues,
            "jobs": found.jobs,
            "problems": found.problems,
        }
        if compared is not None:
            facts["lake"] = {"equal": compared.equal, **asdict(compared)}
        typer.echo(as_line(facts))
    elif found.balanced:
        typer.echo(f"{looked_at}: the books balance")
    if compared is not None and not as_json:
        _tell(compared)
    if not found.balanced:
        _complain(f"{looked_at}: the books do not balance", found.problems)
    if compared is not None and not compared.equal:
        _complain("the lake does not say what the server says", compared.differences)
    if not found.balanced or (compared is not None and not compared.equal):
        raise typer.Exit(1)


def _compare(lake: str, url: str | None, namespace: str) -> Comparison:
    with spark_session() as spark:
        from headrace.lake.lake import Lake  # noqa: PLC0415 - msgspec takes long to load
        from headrace.spark.comparison import compare  # noqa: PLC0415 - pyspark
        from headrace.spark.options import ServerOptions  # noqa: PLC0415

        server = ServerOptions(url=url or "", namespace=namespace)
        return compare(spark, Lake.open(files_at(lake, spark)), server)


def _tell(compared: Comparison) -> None:
    for words in compared.left_out:
        typer.echo(f"not compared: {printable(words)}")
    if not compared.values:
        typer.echo("there was nothing to compare with the lake")
    elif compared.equal:
        typer.echo(
            f"{counted(compared.values, 'figure')} of {counted(compared.queues, 'queue')} and "
            f"{counted(compared.days, 'day')} compared: the lake says what the server says"
        )


def _complain(about: str, problems: list[str]) -> None:
    first, *others = problems
    more = f" ({len(others):,} more: --json lists them)" if others else ""
    typer.echo(f"headrace: {about}: {printable(first)}{more}", err=True)
