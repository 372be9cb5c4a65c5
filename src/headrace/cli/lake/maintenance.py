"""`lake compact`, `lake rollup`: rewrite small files, and build the tables of changed days."""

from __future__ import annotations

import click

from headrace.cli import options
from headrace.cli.lake.common import grace_option, lake_option, stopped_by_signals
from headrace.cli.lake.spark_session import files_at, spark_session
from headrace.cli.output import counted, show, span
from headrace.lake.lake import Lake
from headrace.spark.compact import compact as compact_files
from headrace.spark.compact import delete_replaced
from headrace.spark.rollup import rollup as build_tables


@click.command(epilog="Example: headrace lake compact")
@lake_option
@grace_option
@options.as_json
def compact(lake: str, grace: str, as_json: bool) -> None:
    """Rewrite the small files of each day and queue as a few large ones.

    Running readers are not disturbed.
    """
    keep = options.seconds(grace)
    with spark_session() as spark, stopped_by_signals() as stopping:
        found = Lake.open(files_at(lake, spark))
        groups = before = after = 0
        for done in compact_files(spark, found, grace=keep):
            groups += done.groups
            before += done.files_before
            after += done.files_after
            if stopping.is_set():
                break
        deleted = len(delete_replaced(found, keep))
    facts = {"groups": groups, "files_before": before, "files_after": after, "deleted": deleted}
    rewritten = f"Merged {counted(before, 'small file')} into {after:,}"
    removed = f"; deleted {counted(deleted, 'replaced file')}" if deleted else ""
    sentence = f"{rewritten if groups else 'Nothing to compact'}{removed}."
    show(facts, sentence, as_json=as_json)


@click.command(epilog="Example: headrace lake rollup")
@lake_option
@grace_option
@options.as_json
def rollup(lake: str, grace: str, as_json: bool) -> None:
    """Build the tables of every day whose events have changed.

    Unchanged days are not read again.
    """
    keep = options.seconds(grace)
    with spark_session() as spark, stopped_by_signals() as stopping:
        days = events = 0
        took = 0.0
        for run in build_tables(spark, Lake.open(files_at(lake, spark)), grace=keep):
            days += len(run.days)
            events += run.events
            took += run.seconds
            if stopping.is_set():
                break
    built = f"Built the tables of {counted(days, 'day')} from {counted(events, 'event')}"
    sentence = f"{built} in {span(took)}." if days else "Nothing has changed."
    show({"days": days, "events": events, "seconds": took}, sentence, as_json=as_json)
