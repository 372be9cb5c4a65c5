"""`lake compact` and `lake rollup`: merge small files, and build the tables of changed days."""

from __future__ import annotations

from headrace.cli import options
from headrace.cli.lake.common import grace_option, lake_option, stopped_by_signals, until_stopped
from headrace.cli.lake.spark_session import files_at, spark_session
from headrace.cli.output import counted, show, span
from headrace.lake.batch_lifecycle import delete_replaced
from headrace.lake.lake import Lake
from headrace.spark.compact import compact as compact_files
from headrace.spark.rollup import rollup as build_tables


@options.command("lake compact", server=False)
@lake_option
@grace_option
def compact(lake: str, grace: float) -> None:
    """Merge the small files of each day and queue.

    Queries that are running can still read the replaced files.
    """
    with spark_session() as spark, stopped_by_signals() as stopping:
        found = Lake.open(files_at(lake, spark))
        done = list(until_stopped(compact_files(spark, found, grace=grace), stopping))
        deleted = len(delete_replaced(found, grace))
    groups, before = sum(one.groups for one in done), sum(one.files_before for one in done)
    after = sum(one.files_after for one in done)
    facts = {"groups": groups, "files_before": before, "files_after": after, "deleted": deleted}
    rewritten = f"Merged {counted(before, 'small file')} into {after:,}"
    removed = f"; deleted {counted(deleted, 'replaced file')}" if deleted else ""
    sentence = f"{rewritten if groups else 'Nothing to compact'}{removed}."
    show(facts, sentence)


@options.command("lake rollup", server=False)
@lake_option
@grace_option
def rollup(lake: str, grace: float) -> None:
    """Build the tables of every day whose events have changed.

    Days without new events are not read again.
    """
    with spark_session() as spark, stopped_by_signals() as stopping:
        steps = build_tables(spark, Lake.open(files_at(lake, spark)), grace=grace)
        runs = list(until_stopped(steps, stopping))
    days, events = sum(len(run.days) for run in runs), sum(run.events for run in runs)
    took = sum((run.seconds for run in runs), 0.0)
    built = f"Built the tables of {counted(days, 'day')} from {counted(events, 'event')}"
    sentence = f"{built} in {span(took)}." if days else "Nothing has changed."
    show({"days": days, "events": events, "seconds": took}, sentence)
