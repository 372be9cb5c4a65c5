"""`lake compact`: many small files become few large ones."""

from __future__ import annotations

from headrace.cli.lake.place import DEFAULT, At, Grace, files_at
from headrace.cli.lake.starting import spark_session, stopped_by_signals
from headrace.cli.options import seconds
from headrace.cli.show import AsJson, show
from headrace.cli.words import counted


def compact(
    *,
    lake: At = DEFAULT,
    grace: Grace = "1h",
    as_json: AsJson = False,
) -> None:
    """Rewrite small files of a day and queue as few large ones; readers notice nothing."""
    from headrace.lake.lake import Lake  # noqa: PLC0415 - msgspec takes long to load

    stay = seconds(grace)
    with spark_session() as spark, stopped_by_signals() as stopping:
        from headrace.spark.compact import compact as rewrite  # noqa: PLC0415 - pyspark
        from headrace.spark.compact import delete_replaced  # noqa: PLC0415

        found = Lake.open(files_at(lake, spark))
        groups = before = after = 0
        for done in rewrite(spark, found, grace=stay):
            groups += done.groups
            before += done.files_before
            after += done.files_after
            if stopping.is_set():
                break
        deleted = delete_replaced(found, stay)
    facts = {
        "groups": groups,
        "files_before": before,
        "files_after": after,
        "deleted": len(deleted),
    }
    rewritten = (
        f"{counted(before, 'small file')} are now {after:,}" if groups else "Nothing to compact"
    )
    gone = f"; {counted(len(deleted), 'file')} that were replaced are deleted" if deleted else ""
    show(facts, f"{rewritten}{gone}.", as_json=as_json)
