"""`lake status`: what a lake has, and how far it is behind. Spark is not needed for a directory."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from headrace.cli.lake.lagging import lagging
from headrace.cli.lake.place import DEFAULT, At
from headrace.cli.lake.starting import files_in
from headrace.cli.opening import opened
from headrace.cli.options import Namespace, Url
from headrace.cli.show import AsJson, as_line, heading, pairs, table
from headrace.cli.words import ago, size

if TYPE_CHECKING:
    from headrace import LakeShard
    from headrace.lake.lake import Lake
    from headrace.lake.manifest import LakeSnapshot


def status(
    *,
    lake: At = DEFAULT,
    url: Url = None,
    namespace: Namespace = "default",
    as_json: AsJson = False,
) -> None:
    """Show what the lake has and how far it is behind the server; a warning if that is far."""
    from headrace.lake.lake import Lake  # noqa: PLC0415 - msgspec takes long to load

    with files_in(lake) as files, opened(url, namespace) as client:
        found = Lake.open(files)
        facts = _facts(found, found.snapshot())
        rows = [row for row in client.lakes.list() if row.lake == found.identity.id]
        warnings = lagging(client, rows)
    if as_json:
        typer.echo(as_line({**facts, "shards": rows, "warnings": warnings}))
    else:
        _show(facts, rows)
    for warning in warnings:
        typer.echo(f"headrace: {warning}", err=True)


def _facts(lake: Lake, snapshot: LakeSnapshot) -> dict[str, Any]:
    last = next(lake.manifests(snapshot.number - 1), None)
    days = snapshot.days
    return {
        "lake": str(lake.files),
        "id": lake.identity.id,
        "namespace": lake.identity.namespace,
        "commits": snapshot.number,
        "committed_at": last and last.at,
        "rows": snapshot.rows,
        "missing": snapshot.missing,
        "files": len(snapshot.files),
        "bytes": sum(file.bytes for file in snapshot.files),
        "first_day": days[0] if days else None,
        "last_day": days[-1] if days else None,
    }


def _show(facts: dict[str, Any], rows: list[LakeShard]) -> None:
    at = facts["committed_at"]
    days = f"{facts['first_day']} to {facts['last_day']}" if facts["first_day"] else None
    pairs(
        [
            ("lake", facts["lake"]),
            ("id", facts["id"]),
            ("namespace", facts["namespace"]),
            ("events", f"{facts['rows']:,}"),
            ("missing", f"{facts['missing']:,}" if facts["missing"] else None),
            ("days", days),
            ("files", f"{facts['files']:,}, {size(facts['bytes'])}"),
            ("commits", f"{facts['commits']:,}" + (f", the last {ago(at, _now())}" if at else "")),
        ]
    )
    if rows:
        heading("On the server")
        columns = ("shard", "behind", "trimmed", "dropped", "entry")
        cells = [
            (row.shard, f"{row.behind:,}", f"{row.trimmed:,}", f"{row.dropped:,}", row.entry)
            for row in rows
        ]
        table(columns, cells)
    else:
        typer.echo("\nThe server keeps nothing for this lake: headrace lake sync changes that.")


def _now() -> datetime:
    return datetime.now(UTC)
