"""`lake replay`: put jobs of the past again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from headrace.cli import options
from headrace.cli.changing import Approval
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.lake.common import lake_option
from headrace.cli.lake.spark_session import files_at, spark_server, spark_session
from headrace.cli.output import counted, print_json, show, table, wants_json, warn
from headrace.engine.check import Limits, text
from headrace.lake.lake import Lake
from headrace.spark import replay as replays
from headrace.spark.query import open_history
from headrace.spark.replay import ReplayCount, ReplayPlan


@options.command(
    "lake replay --where \"queue = 'resize' and failure_type = 'Timeout'\" --into retry-queue"
)
@click.option(
    "--where",
    metavar="CONDITION",
    required=True,
    help="SQL condition on the columns of the table jobs and on failure_type.",
)
@click.option("--into", metavar="QUEUE", required=True, help="Queue of the new jobs.")
@options.number("--rate", least=0.001, help="Make at most this many jobs per second available.")
@options.yes
@click.option("--dry-run", is_flag=True, help="Only count the jobs.")
@click.option("--again", is_flag=True, help="Repeat a replay that was completed before.")
@lake_option
def replay(
    where: str,
    into: str,
    rate: float | None,
    yes: bool,
    dry_run: bool,
    again: bool,
    lake: str,
    server: ServerOptions,
) -> None:
    """Put jobs of the past again, each exactly once.

    The command counts the jobs first and puts them after a confirmation. A new job has the id of
    the old one as its origin. An interrupted replay continues with the jobs that it had selected.
    """
    text("--into", into, Limits().name)
    approval = Approval(dry_run, yes)
    with open_client(server) as client, spark_session() as spark:
        there = Lake.open(files_at(lake, spark))
        source = spark_server(server).settled()
        plan = replays.unfinished(there, where, into, again=again, rate=rate)
        if plan is not None:
            click.echo(f"{_unfinished(plan)}{'' if dry_run else '; continuing'}", err=True)
        else:
            with open_history(spark, there, source) as history:
                jobs = replays.choose_jobs(history.table("jobs"), where)
                if _approved(replays.count_jobs(jobs), into, approval):
                    plan = replays.store_plan(spark, there, jobs, where, into, rate)
        if plan is not None and not dry_run:
            written = replays.run_plan(spark, there, plan, client, source)
            _report(plan, written.made)


def _approved(counts: Sequence[ReplayCount], into: str, approval: Approval) -> bool:
    """Show the counts; return whether there are jobs to put and the user wants to put them."""
    unable = sum(count.without_data for count in counts)
    able = sum(count.jobs for count in counts) - unable
    if not wants_json():
        _show_counts(counts, able, unable, into)
    elif not approval.is_possible or not able:
        print_json({"counts": [asdict(count) for count in counts], "jobs": able})
    if approval.dry_run or not able:
        return False
    question = f"Put {counted(able, 'job')} into {into!r}?"
    approval.require(question, "no jobs were put; pass --yes to put them")
    return True


def _show_counts(counts: Sequence[ReplayCount], able: int, unable: int, into: str) -> None:
    if counts:
        columns = ("queue", "state", "failure type", "jobs", "without data")
        table(columns, [tuple(asdict(count).values()) for count in counts])
    click.echo(f"{counted(able, 'job')} can be put into {into!r}.")
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


def _report(plan: ReplayPlan, made: int) -> None:
    facts = {"replay": plan.id, "into": plan.into, "jobs": plan.rows, "made": made}
    show(facts, f"{counted(made, 'job')} put into {plan.into!r}, replay {plan.id}.")
