"""`lake replay`: put jobs from the history again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from headrace.cli import options
from headrace.cli.bulk_changes import Approval
from headrace.cli.connecting import ServerOptions, open_client
from headrace.cli.lake.common import lake_option
from headrace.cli.lake.spark_session import files_at, spark_server, spark_session
from headrace.cli.output import counted, print_json, say, show, table, wants_json, warn
from headrace.engine.check import Limits, text
from headrace.lake.lake import Lake
from headrace.spark import replay as replays
from headrace.spark.query import open_history
from headrace.spark.replay import ReplayCount


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
@click.option("--dry-run", is_flag=True, help="Count the jobs and put none.")
@click.option("--again", is_flag=True, help="Put the jobs of a completed replay again.")
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
    """Put jobs from the history again, each exactly once.

    The command counts the jobs first and puts them after a confirmation. The origin of a new job is
    the id of the old job. To continue an interrupted replay, run the same command again. The replay
    then continues with the jobs that were selected before.
    """
    text("--into", into, Limits().name)
    approval = Approval(dry_run, yes)
    with open_client(server) as client, spark_session() as spark:
        there = Lake.open(files_at(lake, spark))
        source = spark_server(server).settled()
        plan = replays.unfinished(there, where, into, again=again, rate=rate)
        if plan is not None:
            say(
                f"This replay of {counted(plan.rows, 'job')} was started at "
                f"{plan.at:%Y-%m-%d %H:%M} but not completed{'' if dry_run else '; continuing'}",
                err=True,
            )
        else:
            with open_history(spark, there, source) as history:
                jobs = replays.choose_jobs(history.table("jobs"), where)
                if _approved(replays.count_jobs(jobs), into, approval):
                    plan = replays.store_plan(spark, there, jobs, where, into, rate)
        if plan is not None and not dry_run:
            written = replays.run_plan(spark, there, plan, client, source)
            facts = {"replay": plan.id, "into": into, "jobs": plan.rows, "made": written.made}
            sentence = f"{counted(written.made, 'job')} put into {into!r}, replay {plan.id}."
            show(facts, sentence)


def _approved(counts: Sequence[ReplayCount], into: str, approval: Approval) -> bool:
    """Show the counts; return whether there are jobs to put and the user has confirmed the put."""
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
    say(f"{counted(able, 'job')} can be put into {into!r}.")
    if unable:
        warn(
            f"{counted(unable, 'job')} left out: their payloads were larger than the setting "
            "event_data, so the lake does not have the payloads"
        )
