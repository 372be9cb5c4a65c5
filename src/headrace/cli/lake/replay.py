"""`lake replay`: jobs of the past become new jobs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.lake.place import DEFAULT, At, files_at
from headrace.cli.lake.starting import spark_session
from headrace.cli.opening import opened
from headrace.cli.options import Namespace, Url
from headrace.cli.show import AsJson, as_line, show, table
from headrace.cli.words import counted
from headrace.engine.check import Limits, text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.lake.lake import Lake
    from headrace.lake.replays import ReplayPlan
    from headrace.spark.options import ServerOptions
    from headrace.spark.replay import ReplayCount


def replay(
    *,
    where: Annotated[
        str,
        typer.Option(
            "--where", help="Which: an SQL condition on the table jobs, and on failure_type."
        ),
    ],
    into: Annotated[str, typer.Option("--into", metavar="QUEUE", help="Where the new jobs go.")],
    rate: Annotated[
        float | None,
        typer.Option("--rate", min=0.001, help="So many start to wait in a second, not all."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Make them without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count them.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Also if the same was replayed before.")
    ] = False,
    lake: At = DEFAULT,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Make jobs of the past anew, each once: interrupted, it goes on where it was.

    They are counted first, and made when you say so. A new job knows of which it is a copy
    (origin). One that was interrupted goes on with the jobs it had chosen.
    """
    text("--into", into, Limits().name)
    wish = Wish(where, into, rate, make=not dry_run, ask=not yes, as_json=as_json)
    with opened(url, namespace) as client, spark_session() as spark:
        from headrace.lake.lake import Lake  # noqa: PLC0415 - msgspec takes long to load
        from headrace.spark import replay as replaying  # noqa: PLC0415 - pyspark, too
        from headrace.spark.options import ServerOptions  # noqa: PLC0415

        there = Lake.open(files_at(lake, spark))
        server = ServerOptions(url=url or "", namespace=namespace).settled()
        plan = replaying.unfinished(there, where, into, again=again, rate=rate)
        if plan is not None:
            typer.echo(f"{_begun(plan)}{'; it goes on' if wish.make else ''}", err=True)
        else:
            plan = _planned(spark, there, server, wish)
        if plan is not None and wish.make:
            written = replaying.run_plan(spark, there, plan, client, server)
            _say_made(plan, written.made, as_json=as_json)


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for."""

    where: str
    into: str
    rate: float | None
    make: bool
    ask: bool
    as_json: bool

    @property
    def will_make(self) -> bool:
        """Whether jobs are made; not where nobody has agreed, nor can be asked."""
        return self.make and (not self.ask or sys.stdin.isatty())


def _planned(
    spark: SparkSession, lake: Lake, server: ServerOptions, wish: Wish
) -> ReplayPlan | None:
    """Counts what would be made and, if it shall be, writes it down."""
    from headrace.spark import replay as replaying  # noqa: PLC0415 - pyspark takes long to load
    from headrace.spark.query import open_history  # noqa: PLC0415

    with open_history(spark, lake, server) as now:
        jobs = replaying.choose_jobs(now.table("jobs"), wish.where)
        counts = replaying.count_jobs(jobs)
        if not _agreed(counts, wish):
            return None
        return replaying.store_plan(spark, lake, jobs, wish.where, wish.into, wish.rate)


def _agreed(counts: Sequence[ReplayCount], wish: Wish) -> bool:
    able = sum(count.jobs - count.without_data for count in counts)
    unable = sum(count.without_data for count in counts)
    _show(counts, able, unable, wish)
    if not (able and wish.make):
        return False
    if not wish.will_make:
        typer.echo("headrace: nothing was made; --yes makes them", err=True)
        raise typer.Exit(1)
    if wish.ask:
        typer.confirm(f"Make {counted(able, 'job')} in {wish.into!r}?", abort=True, err=True)
    return True


def _show(counts: Sequence[ReplayCount], able: int, unable: int, wish: Wish) -> None:
    if wish.as_json:
        if not wish.will_make or not able:
            typer.echo(as_line({"counts": [asdict(count) for count in counts], "jobs": able}))
        return
    if counts:
        columns = ("queue", "state", "failure type", "jobs", "without data")
        table(columns, [tuple(asdict(count).values()) for count in counts])
    typer.echo(f"{counted(able, 'job')} can be made anew in {wish.into!r}.")
    if unable:
        typer.echo(
            f"headrace: of {counted(unable, 'job')} the lake has no payload, as it was larger than "
            "event_data; they are left out",
            err=True,
        )


def _begun(plan: ReplayPlan) -> str:
    return (
        f"This replay was begun at {plan.at:%Y-%m-%d %H:%M} with {counted(plan.rows, 'job')} and "
        "not brought to its end"
    )


def _say_made(plan: ReplayPlan, made: int, *, as_json: bool) -> None:
    facts = {"replay": plan.id, "into": plan.into, "jobs": plan.rows, "made": made}
    show(facts, f"{counted(made, 'job')} made in {plan.into!r}, replay {plan.id}.", as_json=as_json)
