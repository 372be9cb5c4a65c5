"""`lake rollup`: the tables of the days that have changed."""

from __future__ import annotations

from headrace.cli.lake.place import DEFAULT, At, Grace, files_at
from headrace.cli.lake.starting import spark_session, stopped_by_signals
from headrace.cli.options import seconds
from headrace.cli.show import AsJson, show
from headrace.cli.words import counted, span


def rollup(
    *,
    lake: At = DEFAULT,
    grace: Grace = "1h",
    as_json: AsJson = False,
) -> None:
    """Build the tables of days whose events have changed; a new day costs the work of a day."""
    from headrace.lake.lake import Lake  # noqa: PLC0415 - msgspec takes long to load

    stay = seconds(grace)
    with spark_session() as spark, stopped_by_signals() as stopping:
        from headrace.spark.rollup import rollup as build  # noqa: PLC0415 - pyspark

        days = events = 0
        took = 0.0
        for run in build(spark, Lake.open(files_at(lake, spark)), grace=stay):
            days += len(run.days)
            events += run.events
            took += run.seconds
            if stopping.is_set():
                break
    told = f"The tables of {counted(days, 'day')} are built, of {counted(events, 'event')}"
    sentence = f"{told}, in {span(took)}." if days else "Nothing has changed."
    show({"days": days, "events": events, "seconds": took}, sentence, as_json=as_json)
