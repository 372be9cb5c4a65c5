"""`lake replay`: put jobs of the past again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click
from pyspark.sql import SparkSession

from headrace.cli import options
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.lake.common import lake_option
from headrace.cli.lake.spark_session import files_at, spark_server, spark_session
from headrace.cli.output import counted, show, table, to_json, warn
from headrace.engine.check import Limits, text
from headrace.lake.lake import Lake
from headrace.spark import replay as replays
from headrace.spark.options import ServerAddress
from headrace.spark.query import open_history
from headrace.spark.replay import ReplayCount, ReplayPlan


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """The jobs to put again, their queue, and how to confirm and report."""

    where: str
    into: str
    rate: float | None
    make: bool
    ask: bool
    as_json: bool

    @property
    def will_make(self) -> bool:
        """Whether jobs are put; this needs --yes or a terminal to confirm it."""
        return self.make and (not self.ask or sys.stdin.isatty())


@click.command(
    epilog="Example: headrace lake replay "
    "--where \"queue = 'resize' and failure_type = 'Timeout'\" --into retry-queue"
)
@click.option(
    "--where",
    metavar="CONDITION",
    required=True,
    help="SQL condition on the columns of the table jobs and on failure_type.",
)
@click.option("--into", metavar="QUEUE", required=True, help="Queue of the new jobs.")
@click.option(
    "--rate",
    type=click.FloatRange(0.001),
    metavar="NUMBER",
    help="Make at most this many jobs per second available.",
)
@options.yes
@click.option("--dry-run", is_flag=True, help="Only count the jobs.")
@click.option("--again", is_flag=True, help="Repeat a replay that was completed before.")
@lake_option
@options.server
@options.as_json
def replay(
    where: str,
    into: str,
    rate: float | None,
    yes: bool,
    dry_run: bool,
    again: bool,
    lake: str,
    server: ServerOptions,
    as_json: bool,
) -> None:
    """Put jobs of the past again, each exactly once.

    The command counts the jobs first and puts them after a confirmation. A new job has the id of
    the old one as its origin. An interrupted replay continues with the jobs that it had selected.
    """
    text("--into", into, Limits().name)
    request = ReplayRequest(where, into, rate, make=not dry_run, ask=not yes, as_json=as_json)
    with open_client(server) as client, spark_session() as spark:
        there = Lake.open(files_at(lake, spark))
        source = spark_server(server).settled()
        plan = replays.unfinished(there, where, into, again=again, rate=rate)
        if plan is not None:
            click.echo(f"{_unfinished(plan)}{'; continuing' if request.make else ''}", err=True)
        else:
            plan = _planned(spark, there, source, request)
        if plan is not None and request.make:
            written = replays.run_plan(spark, there, plan, client, source)
            _report(plan, written.made, as_json=as_json)


def _planned(
    spark: SparkSession, lake: Lake, source: ServerAddress, request: ReplayRequest
) -> ReplayPlan | None:
    """Count the jobs and, after a confirmation, store the plan."""
    with open_history(spark, lake, source) as history:
        jobs = replays.choose_jobs(history.table("jobs"), request.where)
        counts = replays.count_jobs(jobs)
        if not _confirmed(counts, request):
            return None
        return replays.store_plan(spark, lake, jobs, request.where, request.into, request.rate)


def _confirmed(counts: Sequence[ReplayCount], request: ReplayRequest) -> bool:
    able = sum(count.jobs - count.without_data for count in counts)
    unable = sum(count.without_data for count in counts)
    _show_counts(counts, able, unable, request)
    if not (able and request.make):
        return False
    if not request.will_make:
        warn("no jobs were put; pass --yes to put them")
        sys.exit(1)
    if request.ask:
        click.confirm(f"Put {counted(able, 'job')} into {request.into!r}?", abort=True, err=True)
    return True


def _show_counts(
    counts: Sequence[ReplayCount], able: int, unable: int, request: ReplayRequest
) -> None:
    if request.as_json:
        if not request.will_make or not able:
            click.echo(to_json({"counts": [asdict(count) for count in counts], "jobs": able}))
        return
    if counts:
        columns = ("queue", "state", "failure type", "jobs", "without data")
        table(columns, [tuple(asdict(count).values()) for count in counts])
    click.echo(f"{counted(able, 'job')} can be put into {request.into!r}.")
    if unable:
        warn(
            f"{counted(unable, 'job')} left out: the payload was larger than event_data, so the "
            "lake does not have it"
        )


def _unfinished(plan: ReplayPlan) -> str:
    return (
        f"This replay was started at {plan.at:%Y-%m-%d %H:%M} with {counted(plan.rows, 'job')} and "
        "not completed"
    )


def _report(plan: ReplayPlan, made: int, *, as_json: bool) -> None:
    facts = {"replay": plan.id, "into": plan.into, "jobs": plan.rows, "made": made}
    show(
        facts, f"{counted(made, 'job')} put into {plan.into!r}, replay {plan.id}.", as_json=as_json
    )
